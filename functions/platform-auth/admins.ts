import { z } from "@hono/zod-openapi";
import { createServiceAccount } from "../../shared/access/machines/index.ts";
import { publicKeys } from "../../shared/access/tokens.ts";
import { listAdmins, removeAdmin } from "../../shared/access/users.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { AdminSchema, adminResponse, NewAdminSchema } from "../realm/schemas.ts";
import { realmRoute, rightsRoute, type Scope } from "../realm/scope.ts";

const JwkSchema = z
  .object({
    kty: z.string(),
    crv: z.string(),
    x: z.string(),
    kid: z.string(),
    alg: z.string(),
    use: z.string(),
  })
  .openapi("Jwk");
const JwkSet = z.object({ keys: z.array(JwkSchema) }).openapi("JwkSet");

export function adminRoutes(scope: Scope) {
  const list = defineRoute({
    ...realmRoute(scope, "admins.read"),
    method: "get",
    path: "/api/_auth/admins",
    operationId: "listPlatformAdmins",
    summary: "List platform admins",
    responses: { 200: json("The admins, oldest first", z.array(AdminSchema)) },
    problems: [401, 403, 422],
  });
  const create = defineRoute({
    ...rightsRoute(scope, "services.write"),
    method: "post",
    path: "/api/_auth/admins",
    operationId: "createPlatformService",
    summary: "Create a service account that acts as a platform admin",
    description:
      "It has no passkeys: create API tokens for it. It does not count as the platform admin who must remain.",
    request: { body: jsonRequest(NewAdminSchema) },
    responses: { 201: json("The service account", AdminSchema) },
    problems: [401, 403],
  });
  const remove = defineRoute({
    ...realmRoute(scope, "admins.write"),
    method: "delete",
    path: "/api/_auth/admins/{id}",
    operationId: "removePlatformAdmin",
    summary: "Remove a platform admin",
    description: "Ends all sessions of the account at once. The last admin cannot be removed (409).",
    request: { params: z.object({ id: z.string() }) },
    responses: { 204: { description: "Removed" } },
    problems: [401, 403, 404, 409],
  });
  const jwks = defineRoute({
    ...realmRoute(scope, "anyone"),
    method: "get",
    path: "/api/_auth/jwks",
    operationId: "getJwks",
    summary: "Public keys for verifying tokens (RFC 7517)",
    responses: { 200: json("JWK set", JwkSet) },
  });

  return newRouter()
    .openapi(list, async (c) => c.json((await listAdmins(c.var.deps, c.var.actor)).map(adminResponse), 200))
    .openapi(create, async (c) => {
      const { deps, actor, realm } = c.var;
      const { name } = c.req.valid("json");
      const account = await createServiceAccount(deps, actor, { realm, name, role: "owner" });
      return c.json(adminResponse(account), 201);
    })
    .openapi(remove, async (c) => {
      await removeAdmin(c.var.deps, c.var.actor, c.req.valid("param").id);
      return c.body(null, 204);
    })
    .openapi(jwks, async (c) => {
      const { keys } = await publicKeys(c.var.deps.config);
      return c.json({ keys: [...keys] }, 200, { "cache-control": "public, max-age=300" });
    });
}
