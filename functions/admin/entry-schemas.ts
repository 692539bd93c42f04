import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { pinnedTo } from "../../shared/access/actor.ts";
import { otherRevision } from "../../shared/access/refusals.ts";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { definitionFor } from "../../shared/definition/stored/index.ts";
import { requireOrb } from "../../shared/entry/index.ts";
import { noteUse, PinnedItems, type PinnedRequest } from "../../shared/entry/pinned/index.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { definitionOf, requireTakenWith, showShape } from "../http/definition-header.ts";
import { FaultSchema } from "../http/schemas.ts";
import { definitionIn } from "../http/within.ts";
import type { AppEnv } from "../request/context.ts";

const moment = z.iso.datetime({ offset: true }).nullable();

export const ValuesSchema = z.record(z.string(), z.unknown()).openapi("EntryValues", {
  description:
    "Values by field name. A translatable field has a map by language, a market-specific field a map by market. A field that is both has a map by market, then language. Sensitive fields show a mask.",
  example: { title: { en: "Chair" }, price: { US: 49.5 } },
});

export const EntrySchema = z
  .object({
    id: z.string(),
    orb: z.string(),
    module: z.string(),
    schema: z.string(),
    status: z.enum([...STATUSES, "DELETED"]),
    revision: z.int().openapi({ description: "Number of the newest revision" }),
    publishedRevision: z.int().nullable().openapi({ description: "Number of the live revision" }),
    validFrom: moment,
    validTo: moment,
    createdAt: z.iso.datetime(),
    createdBy: z.string(),
    updatedAt: z.iso.datetime(),
    updatedBy: z.string(),
    values: ValuesSchema,
    warnings: z.array(FaultSchema).optional().openapi({
      description:
        "Only in the response to a write: what was changed in Markdown or HTML that was converted to rich text, and references of a published revision whose entries were deleted or archived",
    }),
  })
  .openapi("Entry");

export const MOMENT = { type: "string", format: "date-time", nullable: true } as const;

/** Accepts any value. Values and times are validated later, because one response must report all errors. */
const given = z.unknown().openapi(MOMENT);

export const NewEntryBody = z
  .strictObject({
    module: z.string().openapi({ example: "catalog" }),
    schema: z.string().optional().openapi({ description: "Required if the module has several schemas" }),
    values: z.unknown().openapi({ type: "object", additionalProperties: true }),
    validFrom: given.optional(),
    validTo: given.optional(),
  })
  .openapi("EntryInput", { required: ["module", "values"] });

const NOT_MOVED = "Must not change if present. Entries cannot be moved.";
const place = z.string().optional().openapi({ description: NOT_MOVED });
const SET_BY_PLATFORM = "Set by the platform. Ignored in requests.";
const readOnly = (schema: {
  type: "string" | "integer" | "object" | "array";
  nullable?: true;
  items?: Record<string, never>;
}) =>
  z
    .unknown()
    .optional()
    .openapi({ ...schema, readOnly: true, description: SET_BY_PLATFORM });

/** Read-only properties. Requests may contain them, so that clients can edit a response and send it back. */
const ReadOnlyMembers = {
  id: place,
  orb: place,
  module: place,
  schema: place,
  status: readOnly({ type: "string" }),
  revision: readOnly({ type: "integer" }),
  publishedRevision: readOnly({ type: "integer", nullable: true }),
  createdAt: readOnly({ type: "string" }),
  createdBy: readOnly({ type: "string" }),
  updatedAt: readOnly({ type: "string" }),
  updatedBy: readOnly({ type: "string" }),
  expand: readOnly({ type: "object" }),
  warnings: readOnly({ type: "array", items: {} }),
  fallback: z
    .unknown()
    .optional()
    .openapi({
      type: "object",
      additionalProperties: { type: "object" },
      description:
        "With `locale` or `market`: the fields that a response filled with other languages or markets, as in that response. They are not stored, unless their values have changed.",
    }),
} as const;

/** The members of a change beside its values. */
export const changed = {
  validFrom: given.optional().openapi({ description: "If missing, it does not change. Null removes it." }),
  validTo: given.optional().openapi({ description: "If missing, it does not change. Null removes it." }),
  ...ReadOnlyMembers,
};

export const EntryBody = z
  .strictObject({
    values: z.unknown().optional().openapi({
      type: "object",
      additionalProperties: true,
      description:
        "All values. With `locale` or `market`, only the values to change, where null clears a value. If missing, values do not change. A mask keeps the stored sensitive value.",
    }),
    ...changed,
  })
  .openapi("EntryChange");

export const MERGE_PATCH =
  "JSON Merge Patch (RFC 7396). Writes a new revision that differs from the newest one only in what the body names. Objects are merged, so a translatable value may name one language. An array replaces the whole array. Null clears a value. The content type is `application/merge-patch+json` or `application/json`.";

export const PATCH_VALUES = {
  type: "object",
  additionalProperties: true,
  description: "The values to change. Null clears a value.",
} as const;

export const ADDED = {
  type: "object",
  additionalProperties: true,
  description:
    "Numbers to add to the newest values, by field. A missing value counts as 0. No other request comes between the read and the write",
  example: { sold: 2 },
} as const;

export const EntryPatchBody = z
  .strictObject({
    values: z.unknown().optional().openapi(PATCH_VALUES),
    add: z.unknown().optional().openapi(ADDED),
    ...changed,
  })
  .openapi("EntryPatch");

export const PatchManyBody = z
  .strictObject({
    values: z.unknown().optional().openapi(PATCH_VALUES),
    validFrom: changed.validFrom,
    validTo: changed.validTo,
  })
  .openapi("EntriesPatch");

const PARAMETERS = new Set(["publish", "locale", "locales", "market", "force"]);

/** Improves the error for an unknown property, which is usually a field or query parameter in the wrong place. */
export function asEntryFault(fault: Fault): Fault {
  if (fault.code !== "unknown_property" || fault.path.lastIndexOf("/") !== 0) return fault;
  const name = fault.path.slice(1);
  const message = PARAMETERS.has(name)
    ? `is a query parameter. Send it as ?${name}=… in the address.`
    : 'is not a known property. Put the fields of the schema into "values".';
  return { ...fault, message };
}

/** Names the shape in the entity tag of a response, so that no cache mixes two shapes. */
export const shapeTag = (pinned: PinnedRequest | undefined): string | undefined =>
  pinned?.orb.since === undefined ? undefined : `d${pinned.revision}`;

/**
 * Returns the revision whose shape a request has, by its header or its API token, and records the use. Undefined if the
 * request has the current shape.
 */
export async function pinnedItems(
  c: Context<AppEnv>,
  orb: Promise<LiveOrb>,
): Promise<PinnedItems | undefined> {
  const [named, own] = [definitionOf(c), pinnedTo(c.var.actor)];
  if (named !== undefined && own !== undefined && named !== own) throw otherRevision(own);
  const revision = named ?? own;
  if (revision === undefined) return undefined;
  requireTakenWith(c);
  const { deps, actor } = c.var;
  const items = new PinnedItems(deps, revision, false);
  const live = await orb;
  showShape(c, live, await items.use(live));
  c.header("vary", "Orb-Definition", { append: true });
  noteUse(deps, live, revision, actor);
  return items;
}

/**
 * Starts to read the definition with which a request reads and writes entries. A failed read throws only where the
 * returned promise is awaited.
 */
export function definition(c: Context<AppEnv>, orbId = c.req.param("orbId") ?? ""): Promise<LiveOrb> {
  const { deps } = c.var;
  const orb = definitionFor(deps, orbId).then((found) => {
    c.set("lossHeaders", lossHeaders(found?.fence?.loss));
    return definitionIn(deps, requireOrb(found), c.req.query("change"));
  });
  orb.catch(() => undefined);
  return orb;
}

/** Returns the path to which the idempotency keys of a request belong. Those of another shape are other ones. */
export const keyPath = (c: Context<AppEnv>, pinned: { revision: number } | undefined): string =>
  pinned === undefined ? c.req.path : `${c.req.path}@${pinned.revision}`;
