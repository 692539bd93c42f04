import { z } from "@hono/zod-openapi";
import { createInvitation } from "../../shared/access/invitations.ts";
import { checkInvitation } from "../../shared/access/recovery/index.ts";
import { revokeInvitation } from "../../shared/access/revocation.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { InvitationSchema, InvitationStateSchema, invitationResponse } from "./schemas.ts";
import { credentialRoute, pathParams, realmRoute, roleSchema, type Scope } from "./scope.ts";

export function invitationRoutes(scope: Scope) {
  const { prefix, name, accounts } = scope;
  const params = z.object(pathParams(prefix));
  const withCode = params.extend({ code: z.string() });
  const standard = accounts.roles[accounts.roles.length - 1];
  const description = `The role that the invitation grants; \`${standard}\` by default`;
  const limited = scope.attempt === undefined ? ([404] as const) : ([429] as const);

  const create = defineRoute({
    ...credentialRoute(scope, "invitations.write", "invitations", "invited"),
    method: "post",
    path: `${prefix}/invitations`,
    operationId: `create${name}Invitation`,
    summary: `Invite a ${accounts.noun}`,
    ...(accounts.roles.length === 1
      ? {}
      : {
          description:
            "Admins can grant `user` and roles that extend it. Owners and platform admins can grant any role.",
        }),
    request: {
      params,
      body: jsonRequest(
        z.strictObject({ role: roleSchema(scope).optional().openapi({ description }) }),
        false,
      ),
    },
    responses: { 201: json("The invitation", InvitationSchema) },
    problems: [401, 403, ...limited],
  });
  const check = defineRoute({
    ...realmRoute(scope, "anyone", "invitations", "checked"),
    method: "get",
    path: `${prefix}/invitations/{code}`,
    operationId: `get${name}Invitation`,
    summary: "Check an invitation or a recovery link",
    description: "404 if it is unknown; 410 if it was used or revoked, or has expired.",
    request: { params: withCode },
    responses: { 200: json("The invitation is valid", InvitationStateSchema) },
    problems: [404, 410, 429],
  });
  const revoke = defineRoute({
    ...realmRoute(scope, "invitations.write", "invitations", "revoked"),
    method: "delete",
    path: `${prefix}/invitations/{code}`,
    operationId: `revoke${name}Invitation`,
    summary: "Revoke an unused invitation or recovery link",
    request: { params: withCode },
    responses: { 204: { description: "Revoked" } },
    problems: [401, 403, 404, 410, ...limited],
  });

  return newRouter()
    .openapi(create, async (c) => {
      const { deps, actor, realm } = c.var;
      const role = c.req.valid("json").role ?? standard ?? "user";
      return c.json(invitationResponse(await createInvitation(deps, actor, { realm, role })), 201);
    })
    .openapi(check, async (c) => {
      const { deps, realm } = c.var;
      return c.json(await checkInvitation(deps, { realm, code: c.req.valid("param").code }), 200);
    })
    .openapi(revoke, async (c) => {
      const { deps, actor, realm } = c.var;
      await revokeInvitation(deps, actor, { realm, code: c.req.valid("param").code });
      return c.body(null, 204);
    });
}
