import { z } from "@hono/zod-openapi";
import { createServiceAccount } from "../../shared/access/machines/index.ts";
import { changeUser, listUsers, removeUser } from "../../shared/access/users.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { Cursor, json, jsonRequest, Limit, listOf } from "../http/schemas.ts";
import { newUserSchema, UserSchema, userResponse } from "../realm/schemas.ts";
import { pathParams, realmRoute, rightsRoute, roleSchema, type Scope } from "../realm/scope.ts";

const status = z.enum(["active", "disabled"]).optional();

export function userRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const role = roleSchema(scope).optional();
  const ChangeSchema = z
    .strictObject({ role, status })
    .refine((body) => body.role !== undefined || body.status !== undefined, {
      message: "must contain role, status or both",
    });
  const params = z.object(pathParams(prefix));
  const withId = params.extend({ id: z.string() });

  const list = defineRoute({
    ...realmRoute(scope, "users.read"),
    method: "get",
    path: `${prefix}/users`,
    operationId: `list${name}Users`,
    summary: "List users of the realm",
    description: "Least recently changed accounts first.",
    request: {
      params,
      query: z.strictObject({
        limit: Limit,
        cursor: Cursor,
        "filter[role]": role,
        "filter[status]": status,
      }),
    },
    responses: { 200: json("A page", listOf(UserSchema)) },
    problems: [400, 401, 403, 404],
  });
  const create = defineRoute({
    ...rightsRoute(scope, "services.write"),
    method: "post",
    path: `${prefix}/users`,
    operationId: `create${name}Service`,
    summary: "Create a service account",
    description: "For platform admins. It has no passkeys: create API tokens for it.",
    request: { params, body: jsonRequest(newUserSchema(role.default("user"))) },
    responses: { 201: json("The service account", UserSchema) },
    problems: [401, 403, 404],
  });
  const change = defineRoute({
    ...rightsRoute(scope, "users.write"),
    method: "put",
    path: `${prefix}/users/{id}`,
    operationId: `change${name}User`,
    summary: "Change a user's role or status",
    description:
      "The user's sessions end at once. Only owners and platform admins manage owners, admins, and roles that extend admin.",
    request: { params: withId, body: jsonRequest(ChangeSchema) },
    responses: { 200: json("The user", UserSchema) },
    problems: [401, 403, 404],
  });
  const remove = defineRoute({
    ...realmRoute(scope, "users.write"),
    method: "delete",
    path: `${prefix}/users/{id}`,
    operationId: `remove${name}User`,
    summary: "Remove a user",
    description: "Removes account, passkeys and sessions. Entries that the user created stay.",
    request: { params: withId },
    responses: { 204: { description: "Removed" } },
    problems: [401, 403, 404],
  });

  return newRouter()
    .openapi(list, async (c) => {
      const { deps, actor, realm } = c.var;
      const query = c.req.valid("query");
      const { users, next } = await listUsers(deps, actor, {
        realm,
        from: readCursor("user", query.cursor) ?? 1,
        limit: query.limit,
        role: query["filter[role]"],
        status: query["filter[status]"],
      });
      return c.json({ items: users.map(userResponse), nextCursor: writeCursor("user", next) }, 200);
    })
    .openapi(create, async (c) => {
      const { deps, actor, realm } = c.var;
      const { name: called, role: granted } = c.req.valid("json");
      const account = await createServiceAccount(deps, actor, { realm, name: called, role: granted });
      return c.json(userResponse(account), 201);
    })
    .openapi(change, async (c) => {
      const { deps, actor, realm } = c.var;
      const input = { realm, id: c.req.valid("param").id, ...c.req.valid("json") };
      return c.json(userResponse(await changeUser(deps, actor, input)), 200);
    })
    .openapi(remove, async (c) => {
      const { deps, actor, realm } = c.var;
      await removeUser(deps, actor, { realm, id: c.req.valid("param").id });
      return c.body(null, 204);
    });
}
