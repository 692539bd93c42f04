import { z } from "@hono/zod-openapi";
import { listAudit } from "../../shared/access/audit-log.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { Cursor, json, Limit, listOf, Moment } from "../http/schemas.ts";

const AuditSchema = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    realm: z.string().openapi({ description: "`platform`, `auth` or an orb's id" }),
    action: z.string().openapi({ example: "signin" }),
    actor: z.string().openapi({ description: "Account id, `anonymous` or `system`" }),
    through: z
      .string()
      .optional()
      .openapi({ description: "Handler that acted for the account", example: "shop.order" }),
    target: z.string().nullable().openapi({ description: "Id of the object" }),
    outcome: z.enum(["ok", "refused"]),
    detail: z
      .string()
      .nullable()
      .openapi({ description: "Stable code with details of the action or the reason of a refusal" }),
    requestId: z.string(),
    client: z.string().openapi({ description: "Address of the client" }),
    token: z.string().optional().openapi({ description: "Id of the API token that the actor has sent" }),
  })
  .openapi("AuditRecord");

const time = Moment.optional();

const list = defineRoute({
  ...operatorRoute("Audit", "audit.read"),
  method: "get",
  path: "/api/admin/audit",
  operationId: "listAudit",
  summary: "List records of the audit log",
  description:
    "Sign-ins, rejected sign-ins, invitations, role changes, reveals and deletions. Newest first unless `sort=at`. A page may be shorter than `limit` and still have a next one: follow `nextCursor`.",
  request: {
    query: z.strictObject({
      limit: Limit,
      cursor: Cursor,
      sort: z.enum(["at", "-at"]).default("-at"),
      "filter[realm]": z.string().optional(),
      "filter[action]": z.string().optional(),
      "filter[actor]": z.string().optional(),
      "filter[target]": z.string().optional(),
      "filter[outcome]": z.enum(["ok", "refused"]).optional(),
      "filter[at][gte]": time,
      "filter[at][lte]": time,
    }),
  },
  responses: { 200: json("A page", listOf(AuditSchema)) },
  problems: [400, 401, 403],
});

export function auditRoutes() {
  return newRouter().openapi(list, async (c) => {
    const query = c.req.valid("query");
    const instant = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
    const page = await listAudit(c.var.deps, c.var.actor, {
      realm: query["filter[realm]"],
      action: query["filter[action]"],
      actor: query["filter[actor]"],
      target: query["filter[target]"],
      outcome: query["filter[outcome]"],
      since: instant(query["filter[at][gte]"]),
      until: instant(query["filter[at][lte]"]),
      newestFirst: query.sort === "-at",
      limit: query.limit,
      from: readCursor(query.sort, query.cursor),
    });
    const items = page.items.map(({ v: _, ...item }) => item);
    return c.json({ items, nextCursor: writeCursor(query.sort, page.next) }, 200);
  });
}
