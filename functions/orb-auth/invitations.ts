import { z } from "@hono/zod-openapi";
import { bootstrapRealm, hasOwner } from "../../shared/access/bootstrap.ts";
import { listInvitations } from "../../shared/access/invitations.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";
import { InvitationSchema, invitationResponse } from "../realm/schemas.ts";
import { credentialRoute, pathParams, realmRoute, type Scope } from "../realm/scope.ts";

const BootstrapSchema = z.object({ bootstrap: z.boolean() }).openapi("BootstrapState");

export function bootstrapRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const request = { params: z.object(pathParams(prefix)) };
  const list = defineRoute({
    ...realmRoute(scope, "invitations.read", "invitations"),
    method: "get",
    path: `${prefix}/invitations`,
    operationId: `list${name}Invitations`,
    summary: "List invitations of the realm",
    request,
    responses: {
      200: json("Invitations that the caller may create, newest first", z.array(InvitationSchema)),
    },
    problems: [401, 403, 404, 422],
  });
  const state = defineRoute({
    ...realmRoute(scope, "users.read", "bootstrap"),
    method: "get",
    path: `${prefix}/bootstrap`,
    operationId: `get${name}Bootstrap`,
    summary: "Check whether the realm has an owner",
    request,
    responses: { 200: json("State of the realm", BootstrapSchema) },
    problems: [401, 403, 404],
  });
  const bootstrap = defineRoute({
    ...credentialRoute(scope, "realm.bootstrap", "bootstrap"),
    method: "post",
    path: `${prefix}/bootstrap`,
    operationId: `create${name}Bootstrap`,
    summary: "Get or create the invitation for the realm's first owner",
    description:
      "For platform admins. There is one such invitation at a time, so a repeated request returns the same one. 409 once the realm has an owner.",
    request,
    responses: { 200: json("The invitation", InvitationSchema) },
    problems: [401, 403, 404, 409],
  });

  return newRouter()
    .openapi(list, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json((await listInvitations(deps, actor, realm)).map(invitationResponse), 200);
    })
    .openapi(state, async (c) => c.json({ bootstrap: !(await hasOwner(c.var.deps, c.var.realm)) }, 200))
    .openapi(bootstrap, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(invitationResponse(await bootstrapRealm(deps, actor, realm)), 200);
    });
}
