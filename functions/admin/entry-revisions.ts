/** The history of entries: how responses show revisions. */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { json, listOf, pageQuery, RevisionTag } from "../http/schemas.ts";
import { ValuesSchema } from "./entry-schemas.ts";

const moment = z.iso.datetime().nullable();

const RevisionItemSchema = z
  .object({
    revision: z.int(),
    operation: z.enum([
      "create",
      "update",
      "publish",
      "unpublish",
      "archive",
      "restore",
      "delete",
      "revert",
      "reseal",
    ]),
    status: z.enum([...STATUSES, "DELETED"]),
    publishedRevision: z.int().nullable(),
    validFrom: moment,
    validTo: moment,
    at: z.iso.datetime(),
    by: z.string().openapi({ description: "Account id; `scheduler` if a validity window closed" }),
    through: z.string().optional().openapi({
      description: "Handler through which the account wrote the revision",
      example: "shop.order",
    }),
    change: z
      .string()
      .optional()
      .openapi({ description: "Id of the change set whose publication wrote the revision" }),
    imported: z.literal(true).optional().openapi({
      description: "Set if an import wrote the revision and said who created the entry, when, or its state",
    }),
    opened: z
      .object({ at: z.iso.datetime(), by: z.string() })
      .optional()
      .openapi({ description: "When the scheduler opened this revision's window" }),
  })
  .openapi("EntryRevisionItem");

const RevisionSchema = RevisionItemSchema.extend({
  id: z.string(),
  orb: z.string(),
  module: z.string(),
  schema: z.string(),
  values: ValuesSchema,
}).openapi("EntryRevision");

const ComparisonSchema = z
  .object({
    from: z.int(),
    to: z.int(),
    patch: z.array(z.looseObject({ op: z.string(), path: z.string() })).openapi({
      description:
        "JSON Patch (RFC 6902) from the older to the newer revision: values, status and window. Sensitive values stay masked.",
    }),
    words: z
      .array(
        z.object({
          path: z.string().openapi({
            description: "JSON Pointer to the text, or to the paragraph of rich text, in the newer revision",
            example: "/values/body/2",
          }),
          parts: z.array(z.object({ op: z.enum(["keep", "remove", "add"]), text: z.string() })),
        }),
      )
      .openapi({ description: "Changed texts of several words, word by word" }),
  })
  .openapi("EntryComparison");

export const ListedRevisions = pageQuery(["revision", "-revision"]);
export const revisionPage = { 200: json("A page", listOf(RevisionItemSchema), RevisionTag) };

export const OneRevision = z.strictObject({
  against: z.string().optional().openapi({ description: "Compare with this revision" }),
});
export const oneRevision = {
  200: json("The revision; with `against`, the comparison", z.union([RevisionSchema, ComparisonSchema])),
};
