import { z } from "@hono/zod-openapi";
import { endOtherSessions, endOwnSession, listOwnSessions } from "../../shared/access/sessions.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";
import { clearSessionCookie, pathParams, realmRoute, type Scope } from "./scope.ts";

const SessionSchema = z
  .object({
    id: z.string(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    browser: z.string().nullable().openapi({ example: "Firefox", description: "null if unknown" }),
    system: z.string().nullable().openapi({ example: "Windows", description: "null if unknown" }),
    network: z.string().nullable().openapi({
      example: "203.0.113.0/24",
      description: "Network where the session began: IPv4 /24 or IPv6 /48; null if unknown",
    }),
    current: z.boolean().openapi({ description: "Whether it is the session of this request" }),
  })
  .openapi("Session");

/** Routes for the sessions of the signed-in account. */
export function sessionRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const shared = realmRoute(scope, "sessions");
  const params = z.object(pathParams(prefix));

  const list = defineRoute({
    ...shared,
    method: "get",
    path: `${prefix}/sessions`,
    operationId: `list${name}Sessions`,
    summary: "List sessions of the signed-in account",
    request: { params },
    responses: { 200: json("The sessions, newest first", z.array(SessionSchema)) },
    problems: [401, 403, 422],
  });
  const end = defineRoute({
    ...shared,
    method: "delete",
    path: `${prefix}/sessions/{id}`,
    operationId: `end${name}Session`,
    summary: "End a session",
    description:
      "The token and the cookie of the session then no longer work, on any host. The session of this request can be ended too.",
    request: { params: params.extend({ id: z.string() }) },
    responses: { 204: { description: "Ended" } },
    problems: [401, 403, 404],
  });
  const endOthers = defineRoute({
    ...shared,
    method: "delete",
    path: `${prefix}/sessions`,
    operationId: `endOther${name}Sessions`,
    summary: "End all other sessions",
    description: "Ends every session of the signed-in account except the one of this request.",
    request: { params },
    responses: { 204: { description: "Ended" } },
    problems: [401, 403],
  });

  return newRouter()
    .openapi(list, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(await listOwnSessions(deps, actor, realm), 200);
    })
    .openapi(end, async (c) => {
      const { deps, actor, realm } = c.var;
      const own = await endOwnSession(deps, actor, { realm, id: c.req.valid("param").id });
      if (own) clearSessionCookie(c, realm);
      return c.body(null, 204);
    })
    .openapi(endOthers, async (c) => {
      const { deps, actor, realm } = c.var;
      await endOtherSessions(deps, actor, realm);
      return c.body(null, 204);
    });
}
