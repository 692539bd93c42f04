import { z } from "@hono/zod-openapi";
import { publicKeys } from "../../shared/access/tokens.ts";
import { listAdmins, removeAdmin } from "../../shared/access/users.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { platformAdmin } from "../middleware/session.ts";
import { AdminSchema, adminResponse } from "../realm/schemas.ts";

const tags = ["Platform authentication"];
const security = [{ bearer: [] }, { cookie: [] }];

const list = defineRoute({
  method: "get",
  path: "/api/_auth/admins",
  operationId: "listPlatformAdmins",
  summary: "List platform admins",
  tags,
  security,
  middleware: [platformAdmin],
  responses: {
    200: {
      description: "The admins, oldest first",
      content: { "application/json": { schema: z.array(AdminSchema) } },
    },
  },
  problems: [401, 403],
});

const remove = defineRoute({
  method: "delete",
  path: "/api/_auth/admins/{id}",
  operationId: "removePlatformAdmin",
  summary: "Remove a platform admin",
  description: "Ends all sessions of the account at once. The last admin cannot be removed (409).",
  tags,
  security,
  middleware: [platformAdmin],
  request: { params: z.object({ id: z.string() }) },
  responses: { 204: { description: "Removed" } },
  problems: [401, 403, 404, 409],
});

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

const jwks = defineRoute({
  method: "get",
  path: "/api/_auth/jwks",
  operationId: "getJwks",
  summary: "Public keys for verifying tokens (RFC 7517)",
  tags,
  security: [],
  responses: {
    200: {
      description: "JWK set",
      content: {
        "application/json": {
          schema: z.object({ keys: z.array(JwkSchema) }).openapi("JwkSet"),
        },
      },
    },
  },
});

export function adminRoutes() {
  const router = newRouter();
  router.openapi(list, async (c) =>
    c.json((await listAdmins(c.var.deps, c.var.actor)).map(adminResponse), 200),
  );
  router.openapi(remove, async (c) => {
    await removeAdmin(c.var.deps, c.var.actor, c.req.valid("param").id);
    return c.body(null, 204);
  });
  router.openapi(jwks, async (c) => {
    const { keys } = await publicKeys(c.var.deps.config);
    return c.json({ keys: [...keys] }, 200, { "cache-control": "public, max-age=300" });
  });
  return router;
}
