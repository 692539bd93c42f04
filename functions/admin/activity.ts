/** Lists what happened in an orb, and its deleted entries: their parameters and responses. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { ACTIVITY_LIMITS, listActivity, sourcesFor } from "../../shared/activity/activity.ts";
import { ACTIVITY_KINDS } from "../../shared/activity/sources.ts";
import { listTrash } from "../../shared/activity/trash.ts";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { readCursor, readPlaces, writeCursor, writePlaces } from "../http/cursors.ts";
import { parseQuery } from "../http/router.ts";
import { Cursor, Limit, listOf, Moment, wholeNumber } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { definition, EntrySchema } from "./entry-schemas.ts";

const Account = z
  .object({
    id: z.string(),
    name: z.string().nullable().openapi({
      description: "Null if the platform knows no such account, or the caller may not see names",
    }),
    removed: z.literal(true).optional().openapi({ description: "Set if the account was removed" }),
  })
  .openapi("ActivityAccount");

const Item = z
  .object({
    id: z.string().openapi({ example: "entry-1342" }),
    at: z.iso.datetime(),
    by: Account.openapi({
      description: "Who acted. The id is `scheduler`, `system` or that of a schedule if it was no account",
    }),
    through: z.string().optional().openapi({ description: "Handler that acted for the account" }),
    token: z.string().optional().openapi({ description: "Id of the API token that the account used" }),
    kind: z.enum(ACTIVITY_KINDS),
    act: z.string().openapi({ description: "What was done", example: "publish" }),
    entry: z
      .object({
        id: z.string(),
        module: z.string().optional(),
        schema: z.string().optional(),
        revision: z.int().optional(),
        status: z.enum([...STATUSES, "DELETED"]).optional(),
      })
      .optional(),
    change: z
      .object({ id: z.string(), title: z.string().optional() })
      .optional()
      .openapi({ description: "The change set" }),
    field: z.string().optional().openapi({ description: "The field that a comment is about" }),
    file: z.object({ id: z.string(), name: z.string() }).optional(),
    definition: z
      .object({ revision: z.int(), summary: z.array(z.string()) })
      .optional()
      .openapi({ description: "The revision of the document" }),
    account: Account.optional().openapi({ description: "The account that the act is about" }),
    detail: z.string().optional().openapi({ description: "Stable code with details of an act on accounts" }),
  })
  .openapi("ActivityItem");

export const ActivityPage = listOf(Item).omit({ total: true }).openapi("ActivityPage");

const MOST_TEXT = 128;
const text = (description: string) => z.string().min(1).max(MOST_TEXT).optional().openapi({ description });

export const ActivityQuery = z.strictObject({
  limit: wholeNumber(ACTIVITY_LIMITS.page).default(30).openapi({ description: "Acts per page", default: 30 }),
  cursor: Cursor,
  "filter[entry]": text("Id of an entry"),
  "filter[by]": text("Id of an account"),
  "filter[kind]": z.enum(ACTIVITY_KINDS).optional(),
  "filter[act]": text("What was done, such as `publish`"),
  "filter[at][gte]": Moment.optional(),
  "filter[at][lte]": Moment.optional(),
});

const instant = (moment: string | undefined) => (moment === undefined ? undefined : Date.parse(moment));

/** Serves a page of the list. */
export async function activity(c: Context<AppEnv>): Promise<Response> {
  const query = parseQuery(ActivityQuery, c.req.queries());
  const { deps, actor } = c.var;
  const context = await definition(c);
  const filter = {
    entry: query["filter[entry]"],
    by: query["filter[by]"],
    kind: query["filter[kind]"],
    act: query["filter[act]"],
    since: instant(query["filter[at][gte]"]),
    until: instant(query["filter[at][lte]"]),
  };
  const sources = sourcesFor(actor, context.orb, filter).map(({ name }) => name);
  // A cursor is valid only for a list with the same sources.
  const list = `activity-${sources.join("-")}`;
  const before = readPlaces(list, query.cursor, sources.length);
  const { items, next } = await listActivity(deps, actor, context, { ...filter, limit: query.limit, before });
  return c.json({ items, nextCursor: writePlaces(list, next) }, 200);
}

const Deleted = EntrySchema.omit({ warnings: true })
  .extend({
    deletedAt: z.iso.datetime(),
    deletedBy: Account,
    deletedRevision: z.int().openapi({ description: "Number of the newest revision, for `If-Match`" }),
  })
  .openapi("DeletedEntry");

export const TrashPage = listOf(Deleted).omit({ total: true }).openapi("Trash");

export const TrashQuery = z.strictObject({
  limit: Limit,
  cursor: Cursor,
});

/** Serves a page of the deleted entries. */
export async function trash(c: Context<AppEnv>): Promise<Response> {
  const { limit, cursor } = parseQuery(TrashQuery, c.req.queries());
  const { deps, actor } = c.var;
  const before = readCursor("trash", cursor);
  const { items, next } = await listTrash(deps, actor, await definition(c), { limit, before });
  return c.json({ items, nextCursor: writeCursor("trash", next) }, 200);
}
