import { z } from "@hono/zod-openapi";
import { bootstrapRealm, hasOwner } from "../../shared/access/bootstrap.ts";
import { checkInvitation } from "../../shared/access/check-invitation.ts";
import { createInvitation, listInvitations, revokeInvitation } from "../../shared/access/invitations.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { InvitationSchema, InvitationStateSchema, invitationResponse } from "../realm/schemas.ts";
import { managerOnly, pathParams, type Scope } from "../realm/scope.ts";
import { requireHandler } from "./scope.ts";

const security = [{ bearer: [] }, { cookie: [] }];

const invitation = { content: { "application/json": { schema: InvitationSchema } } };

/** Invitations to a user realm, and the bootstrap invitation of its first owner. */
export function invitationRoutes(scope: Scope) {
  const router = newRouter();
  addInvitations(router, scope);
  addBootstrap(router, scope);
  return router;
}

function addInvitations(router: Router, scope: Scope): void {
  const { prefix, name, tag } = scope;
  const params = z.object(pathParams(prefix));
  const withCode = z.object({ ...pathParams(prefix), code: z.string() });

  router.openapi(
    defineRoute({
      method: "post",
      path: `${prefix}/invitations`,
      operationId: `create${name}Invitation`,
      summary: "Invite a user",
      description: "Admins can invite users. Owners and platform admins can grant any role.",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: {
        params,
        body: {
          required: false,
          content: {
            "application/json": {
              schema: z.strictObject({
                role: z
                  .enum(["owner", "admin", "user"])
                  .optional()
                  .openapi({ description: "The role that the invitation grants; `user` by default" }),
              }),
            },
          },
        },
      },
      responses: { 201: { description: "The invitation", ...invitation } },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "invitations");
      const { actor } = c.var;
      const made = await createInvitation(c.var.deps, actor, {
        realm,
        role: c.req.valid("json").role ?? "user",
      });
      return c.json(invitationResponse(made), 201);
    },
  );

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/invitations`,
      operationId: `list${name}Invitations`,
      summary: "List invitations of the realm",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: { params },
      responses: {
        200: {
          description: "Invitations that the caller may create, newest first",
          content: { "application/json": { schema: z.array(InvitationSchema) } },
        },
      },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "invitations");
      const { actor } = c.var;
      return c.json((await listInvitations(c.var.deps, actor, realm)).map(invitationResponse), 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/invitations/{code}`,
      operationId: `get${name}Invitation`,
      summary: "Check an invitation",
      description: "404 if it is unknown; 410 if it was used or revoked, or has expired.",
      tags: [tag],
      security: [],
      request: { params: withCode },
      responses: {
        200: {
          description: "The invitation is valid",
          content: { "application/json": { schema: InvitationStateSchema } },
        },
      },
      problems: [404, 410, 429],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "invitations");
      return c.json(await checkInvitation(c.var.deps, { realm, code: c.req.valid("param").code }), 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "delete",
      path: `${prefix}/invitations/{code}`,
      operationId: `revoke${name}Invitation`,
      summary: "Revoke an unused invitation",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: { params: withCode },
      responses: { 204: { description: "Revoked" } },
      problems: [401, 403, 404, 410],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "invitations");
      const { actor } = c.var;
      await revokeInvitation(c.var.deps, actor, { realm, code: c.req.valid("param").code });
      return c.body(null, 204);
    },
  );
}

function addBootstrap(router: Router, scope: Scope): void {
  const { prefix, name, tag } = scope;
  const params = z.object(pathParams(prefix));

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/bootstrap`,
      operationId: `get${name}Bootstrap`,
      summary: "Check whether the realm has an owner",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: { params },
      responses: {
        200: {
          description: "State of the realm",
          content: {
            "application/json": { schema: z.object({ bootstrap: z.boolean() }).openapi("BootstrapState") },
          },
        },
      },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "bootstrap");
      return c.json({ bootstrap: !(await hasOwner(c.var.deps, realm)) }, 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "post",
      path: `${prefix}/bootstrap`,
      operationId: `create${name}Bootstrap`,
      summary: "Get or create the invitation for the realm's first owner",
      description:
        "For platform admins. There is one at a time: asked again, it is the same. 409 once there is an owner.",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: { params },
      responses: { 200: { description: "The invitation", ...invitation } },
      problems: [401, 403, 404, 409],
    }),
    async (c) => {
      const realm = requireHandler(await scope.realm(c), "bootstrap");
      const { actor } = c.var;
      return c.json(invitationResponse(await bootstrapRealm(c.var.deps, actor, realm)), 200);
    },
  );
}
