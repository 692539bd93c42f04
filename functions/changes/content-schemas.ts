/** The bodies and responses of the routes for the content of change sets. */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { Cursor, FaultSchema, Limit, listOf } from "../http/schemas.ts";
import { ChangeView } from "./schemas.ts";

const place = { module: z.string(), schema: z.string(), id: z.string() };
const status = z.enum([...STATUSES, "DELETED"]);

export const DiffQuery = z.strictObject({ limit: Limit, cursor: Cursor });

const Words = z.array(z.object({ op: z.enum(["keep", "add", "remove"]), text: z.string() }));

const Field = z
  .object({
    name: z.string().openapi({ description: "The field, or `validFrom` or `validTo`" }),
    base: z.unknown().openapi({ description: "The value in the revision from which the set started" }),
    now: z.unknown().openapi({ description: "The value in the live revision" }),
    proposed: z.unknown(),
    changes: z.array(
      z.object({
        kind: z.enum(["added", "removed", "moved", "changed"]),
        path: z.string().openapi({ description: "JSON Pointer in the entry as it will be" }),
        words: Words.optional().openapi({ description: "The words of a text that has changed" }),
      }),
    ),
  })
  .openapi("ChangeSetField");

const Definition = z.object({
  revision: z.int().openapi({ description: "Number of the version within the set, for `If-Match`" }),
  base: z.int().openapi({ description: "Revision of the live definition from which the set started" }),
  force: z.boolean().openapi({
    description: "Whether modules and schemas with stored entries may be removed",
  }),
  changedAt: z.iso.datetime(),
  changedBy: z.string(),
  now: z.int().openapi({ description: "Revision of the live definition of now" }),
  conflict: z.boolean().openapi({
    description: "Whether the orb has published another definition since. Rebase the definition then",
  }),
  differences: z
    .array(
      z.object({
        path: z.string().openapi({
          description:
            "JSON Pointer with the names of modules, schemas and fields instead of positions: those that they had when the set started",
          example: "/modules/catalog/schemas/product/fields/price/max",
        }),
        base: z.unknown().openapi({ description: "The value in the revision from which the set started" }),
        now: z.unknown().openapi({ description: "The value in the live definition of now" }),
        proposed: z.unknown(),
      }),
    )
    .openapi({ description: "The places that the set changes, without secrets. Null stands for no value" }),
  conflicts: z.array(z.string()).openapi({
    description:
      "Paths of `differences` that were changed both in the set and in the orb. `rebase` takes a side for each",
  }),
  summary: z.array(z.string()).openapi({ example: ["added field badge (catalog/product)"] }),
  changes: z
    .array(
      z.object({
        op: z.string(),
        path: z.string(),
        from: z.string().optional(),
        value: z.unknown().optional(),
      }),
    )
    .openapi({ description: "JSON Patch from the live document to the proposed one" }),
});

export const Diff = listOf(
  z
    .object({
      ...place,
      act: z.enum(["publish", "unpublish", "archive", "restore", "delete"]),
      revision: z.int().openapi({ description: "Number of the version within the set, for `If-Match`" }),
      base: z
        .int()
        .nullable()
        .openapi({ description: "Number of the revision from which the set started; null for a new entry" }),
      now: z
        .object({ revision: z.int(), status })
        .nullable()
        .openapi({ description: "The entry as it is; null if there is none" }),
      changedAt: z.iso.datetime(),
      changedBy: z.string(),
      through: z.string().optional(),
      fields: z.array(Field).openapi({ description: "The fields that the set changes" }),
      conflicts: z.array(z.string()).openapi({
        description:
          "JSON Pointers of what was changed both in the set and in the orb. `/status`: the entry is no longer live. An empty pointer: the whole entry",
      }),
    })
    .openapi("ChangeSetEntry"),
)
  .extend({
    definition: Definition.nullable().openapi({
      description:
        "What the set changes in the orb's definition. Null if it does not, on later pages, and for callers who may not read definitions",
    }),
    hidden: z.int().openapi({ description: "Number of entries of the page that the caller may not read" }),
  })
  .openapi("ChangeSetDiff");

export const Publishing = z
  .strictObject({
    hash: z.string().max(200).optional().openapi({
      description: "`hash` of the content that you have seen; 412 if it was edited since",
    }),
  })
  .openapi("ChangeSetPublication");

export const Published = z
  .object({
    change: ChangeView,
    items: z.array(
      z.object({ ...place, revision: z.int(), status, warnings: z.array(FaultSchema).optional() }),
    ),
  })
  .openapi("PublishedChangeSet");

export const Rebased = z.object({ ...place, revision: z.int() }).openapi("RebasedEntry");
