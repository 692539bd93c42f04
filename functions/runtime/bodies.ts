/**
 * Defines the request bodies for entries. The code checks the values later against the application's own definition.
 */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { ADDED, changed, EntrySchema, MOMENT, PATCH_VALUES, ValuesSchema } from "../admin/entry-schemas.ts";

const moment = z.unknown().openapi(MOMENT);

export const RuntimeEntry = EntrySchema.extend({
  status: z.enum(STATUSES),
  values: ValuesSchema,
  expand: z.record(z.string(), z.unknown()).optional().openapi({
    description:
      "Referenced entries by field; null if the entry does not exist or is not visible to the caller",
  }),
  fallback: z
    .record(
      z.string(),
      z.object({ language: z.string().optional(), market: z.string().optional() }).openapi("ValueSource"),
    )
    .optional()
    .openapi({
      description:
        "Fields whose value stands in for a missing one, and the language or market that it comes from. A write of the response does not store these values.",
    }),
}).openapi("RuntimeEntry");

const VALUES = { type: "object", additionalProperties: true } as const;

export const RuntimeNew = z
  .strictObject({
    values: z.unknown().openapi(VALUES),
    validFrom: moment.optional().openapi({ description: "If missing or null: no bound" }),
    validTo: moment.optional().openapi({ description: "If missing or null: no bound" }),
  })
  .openapi("RuntimeEntryInput", { required: ["values"] });

export const RuntimeChange = z
  .strictObject({ values: z.unknown().optional().openapi(VALUES), ...changed })
  .openapi("RuntimeEntryChange");
export const RuntimePatch = z
  .strictObject({
    values: z.unknown().optional().openapi(PATCH_VALUES),
    add: z.unknown().optional().openapi(ADDED),
    ...changed,
  })
  .openapi("RuntimeEntryPatch");
