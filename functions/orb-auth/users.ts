import { z } from "@hono/zod-openapi";
import { changeUser, listUsers, removeUser } from "../../shared/access/users.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { Limit, listOf } from "../http/schemas.ts";
import { UserSchema, userResponse } from "../realm/schemas.ts";
import { managerOnly, pathParams, type Scope } from "../realm/scope.ts";

const security = [{ bearer: [] }, { cookie: [] }];

/** Users of the realm, for its admins. */
export function userRoutes(scope: Scope) {
  const { prefix, name, tag } = scope;
  const withId = z.object({ ...pathParams(prefix), id: z.string() });
  const user = { description: "The user", content: { "application/json": { schema: UserSchema } } };
  const router = newRouter();

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/users`,
      operationId: `list${name}Users`,
      summary: "List users of the realm",
      description: "Least recently changed accounts first.",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: {
        params: z.object(pathParams(prefix)),
        query: z.strictObject({
          limit: Limit,
          cursor: z.string().optional(),
          "filter[role]": z.enum(["owner", "admin", "user"]).optional(),
          "filter[status]": z.enum(["active", "disabled"]).optional(),
        }),
      },
      responses: {
        200: { description: "A page", content: { "application/json": { schema: listOf(UserSchema) } } },
      },
      problems: [400, 401, 403, 404],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      const query = c.req.valid("query");
      const { users, next } = await listUsers(c.var.deps, actor, {
        realm,
        from: readCursor("user", query.cursor) ?? 1,
        limit: query.limit,
        role: query["filter[role]"],
        status: query["filter[status]"],
      });
      return c.json({ items: users.map(userResponse), nextCursor: writeCursor("user", next) }, 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "put",
      path: `${prefix}/users/{id}`,
      operationId: `change${name}User`,
      summary: "Change a user's role or status",
      description:
        "The user's sessions end at once. Only owners and platform admins manage owners and admins.",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: {
        params: withId,
        body: {
          required: true,
          content: {
            "application/json": {
              schema: z
                .strictObject({
                  role: z.enum(["owner", "admin", "user"]).optional(),
                  status: z.enum(["active", "disabled"]).optional(),
                })
                .refine((body) => body.role !== undefined || body.status !== undefined, {
                  message: "must contain role, status or both",
                }),
            },
          },
        },
      },
      responses: { 200: user },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      const { role, status } = c.req.valid("json");
      const { id } = c.req.valid("param");
      return c.json(userResponse(await changeUser(c.var.deps, actor, { realm, id, role, status })), 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "delete",
      path: `${prefix}/users/{id}`,
      operationId: `remove${name}User`,
      summary: "Remove a user",
      description: "Removes account, passkeys and sessions. Entries that the user created stay.",
      tags: [tag],
      security,
      middleware: [managerOnly(scope)],
      request: { params: withId },
      responses: { 204: { description: "Removed" } },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      await removeUser(c.var.deps, actor, { realm, id: c.req.valid("param").id });
      return c.body(null, 204);
    },
  );

  return router;
}
