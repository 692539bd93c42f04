/** Parameters, bodies and responses of the routes for forms. */
import { z } from "@hono/zod-openapi";
import { PRESENCE_LIMITS, UNSAVED_LIMITS } from "../../shared/editing/index.ts";
import { header } from "../http/schemas.ts";

const inPath = (name: string, description: string) =>
  z.string().openapi({ param: { name, in: "path" }, description });

export const SchemaParams = z.object({
  orbId: z.string().openapi({ param: { name: "orbId", in: "path" }, example: "shop" }),
  module: inPath("module", "The module's id"),
  schema: inPath("schema", "The schema's id"),
});
export const EntryParams = SchemaParams.extend({
  entryId: inPath("entryId", "The entry's id"),
});
export const FormParams = SchemaParams.extend({
  entryId: inPath(
    "entryId",
    "The entry's id. For a new entry, `new-` and up to 32 letters and digits that the client chooses",
  ),
});

export const InSet = z.strictObject({
  change: z.string().optional().openapi({
    description: "Id of the change set in which the form edits. Each set has unsaved changes of its own",
  }),
});

export const OfEntry = InSet.extend({
  entry: z
    .string()
    .min(1)
    .optional()
    .openapi({ description: "Only those of this entry, or of this new one" }),
});

export const InChange = z.strictObject({
  change: z.string().optional().openapi({
    description: "Id of the change set in which the form edits, so that entries count that only the set has",
  }),
});

const moment = z.iso.datetime({ offset: true }).nullable().optional();
const Part = z.strictObject({
  values: z
    .record(z.string(), z.unknown())
    .openapi({ description: "Values by field name, in all languages and markets" }),
  validFrom: moment,
  validTo: moment,
});

const Changed = {
  revision: z
    .int()
    .min(0)
    .openapi({ description: "Number of the revision that the form shows; 0 for a new entry" }),
  base: Part.openapi({ description: "What that revision has where the form has something else" }),
  draft: Part.openapi({ description: "What the form has" }),
};

export const UnsavedInput = z.strictObject(Changed).openapi("UnsavedInput");

export const UnsavedView = z
  .object({
    entry: z.string().openapi({ description: "Id of the entry, or that of a new one" }),
    ...Changed,
    version: z.int().openapi({ description: "Number for `If-Match`. It changes with every write" }),
    savedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    left: z.array(z.string()).openapi({
      description:
        "JSON Pointers to values that were not kept: sensitive ones, and those of fields that the caller may not set or that do not exist",
      example: ["/values/pin"],
    }),
  })
  .openapi("Unsaved");

export const UnsavedList = z.object({ items: z.array(UnsavedView) }).openapi("UnsavedList");

export const UnsavedTag = { ETag: header("The version's number", { example: '"3"' }) };

export const PresenceInput = z
  .strictObject({
    field: z.string().max(128).nullable().optional().openapi({
      description: "Name of the field that the caller edits",
    }),
  })
  .openapi("PresenceInput");

export const PresenceView = z
  .object({
    items: z.array(
      z.object({
        by: z.object({
          id: z.string(),
          name: z.string().nullable().openapi({ description: "Null if the caller may not see names" }),
        }),
        since: z.iso.datetime(),
        field: z.string().nullable().openapi({ description: "Null if the caller may not read the field" }),
      }),
    ),
    every: z.int().openapi({ description: "Seconds after which the client repeats the request" }),
  })
  .openapi("Presence");

export const KEPT = `Kept for ${UNSAVED_LIMITS.days} days after the last change, for the account that typed them alone. Needs a session: no API token reads or writes them.`;
export const SHOWN = `Repeat the request every ${PRESENCE_LIMITS.every} seconds. Others see the caller for ${PRESENCE_LIMITS.seconds} seconds after the last request. Presence locks no entry.`;
