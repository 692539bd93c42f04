import { z } from "@hono/zod-openapi";
import { MODULE_TYPES, orbDocumentSchema, STATUSES } from "../../shared/definition/document/index.ts";
import { json, listOf } from "../http/schemas.ts";

const time = z.iso.datetime();
const revisionNumber = z.int().openapi({ example: 7 });
const status = z.enum(STATUSES);

const state = {
  status,
  revision: revisionNumber.openapi({ description: "Number of the newest revision" }),
  publishedRevision: z
    .int()
    .nullable()
    .openapi({ description: "The live revision; null if the orb is not published" }),
  createdAt: time,
  createdBy: z.string(),
  updatedAt: time,
  updatedBy: z.string(),
};

/** Accepts any value. `checkDocument` validates the document later, because one response must report all errors. */
export const OrbBody = z.unknown().openapi({
  type: "object",
  description: "The whole document. The state properties of a response may be sent back unchanged.",
  allOf: [{ $ref: "#/components/schemas/OrbDocument" }],
});

export const OrbPatchBody = z
  .looseObject({})
  .openapi("OrbPatch", { description: "The properties of the document to change. Null removes a property." });

const loss = z.object({
  stream: z.string(),
  from: z.int().openapi({ description: "First sequence number concerned" }),
  to: z.int().openapi({ description: "Last sequence number concerned" }),
  says: z.string().openapi({ description: "What is missing, or contradicts what" }),
  since: time.openapi({ description: "When the loss was found" }),
  writable: z.boolean().openapi({ description: "Whether the orb can be written" }),
  remedy: z.string(),
});

export const OrbSchema = orbDocumentSchema
  .extend({
    ...state,
    damaged: z.array(loss).optional().openapi({
      description: "Lost messages about which no operator has decided. Only when an orb is read",
    }),
  })
  .openapi("Orb", { description: "An orb: its document and its state." });

const OrbItemSchema = z
  .object({ id: z.string(), name: z.string().optional(), description: z.string().optional(), ...state })
  .openapi("OrbItem");

export const OrbListSchema = listOf(OrbItemSchema).openapi("OrbList");

const change = z.object({
  op: z.string(),
  path: z.string(),
  from: z.string().optional(),
  value: z.unknown().optional(),
});

const revision = {
  revision: revisionNumber,
  operation: z.string().openapi({ example: "update" }),
  by: z.string(),
  at: time,
  status: status.nullable(),
  publishedRevision: z.int().nullable(),
  summary: z
    .array(z.string())
    .openapi({ example: ["added module news", "field price: number → string (catalog/product)"] }),
};

const day = z.string().openapi({ format: "date", example: "2026-11-28", description: "Day in UTC" });

/** Who still names which revision of a definition. */
export const UsedListSchema = z
  .object({
    items: z.array(
      z
        .object({
          revision: revisionNumber,
          kind: z
            .enum(["token", "account", "handler", "anonymous", "others"])
            .openapi({ description: "`others`: callers that are not recorded one by one" }),
          realm: z.string().nullable().openapi({ description: "`platform`, `auth` or an orb's id" }),
          id: z.string().nullable().openapi({ description: "Id of the account, or name of the handler" }),
          token: z.string().nullable().openapi({ description: "Id of the API token" }),
          name: z
            .string()
            .nullable()
            .openapi({ description: "Name of the API token or of the account; null if it was removed" }),
          first: day,
          last: day,
        })
        .openapi("UsedDefinition"),
    ),
    publishedRevision: z.int().nullable(),
  })
  .openapi("UsedDefinitions");

export const RevisionItemSchema = z.object(revision).openapi("OrbRevisionItem");
export const RevisionListSchema = listOf(RevisionItemSchema).openapi("OrbRevisionList");
export const RevisionSchema = z
  .object({
    ...revision,
    document: orbDocumentSchema.nullable(),
    changes: z
      .array(change)
      .openapi({ description: "JSON Patch (RFC 6902) from the revision in `against` to this one" }),
    against: z
      .int()
      .nullable()
      .openapi({ description: "Null if there is no revision to compare with; `changes` is empty then" }),
  })
  .openapi("OrbRevision");

const place = { module: z.string(), schema: z.string() };

const DryRunSchema = z
  .object({
    dryRun: z.literal(true),
    refused: z.boolean().openapi({ description: "Whether the change would be rejected" }),
    changes: z.array(change),
    summary: z.array(z.string()),
    impact: z.object({
      changes: z.array(
        z.object({
          ...place,
          severity: z.enum([
            "removal",
            "converted",
            "dangerous",
            "claim",
            "access",
            "tightened",
            "index",
            "renamed",
          ]),
          moduleType: z.enum(MODULE_TYPES),
          code: z.string(),
          field: z.string().optional(),
          candidates: z.array(z.string()).optional().openapi({
            description:
              "New fields of the type of the removed `field`, which may be a rename. Or, for a `field` that is back, those of which a rule could make its values",
          }),
          message: z.string(),
          entries: z.int().openapi({ description: "Entries stored in the schema" }),
          lossy: z
            .object({
              entries: z.int(),
              examples: z.array(z.object({ id: z.string(), reason: z.string() })),
            })
            .optional()
            .openapi({
              description:
                "Entries that would lose a value, because `field` changes its type: their number, and up to 50 of them",
            }),
          values: z.int().optional().openapi({
            description: "Entries that have a value of `field`. Missing if the change is not of a field",
          }),
          makes: z.int().optional().openapi({
            description:
              "Entries that the publication makes, because objects become entries of another schema",
          }),
          refused: z.boolean(),
          forceable: z.boolean(),
        }),
      ),
      duplicates: z.array(z.object({ ...place, field: z.string(), ids: z.array(z.string()) })),
      invalid: z.array(z.object({ ...place, checked: z.int(), invalid: z.int() })),
    }),
  })
  .openapi("OrbDryRun", { description: "Effects of an update or publication on stored entries." });

export const outcome = (headers: Parameters<typeof json>[2]) =>
  json("The orb; with `dryRun=true` the effects of the change", z.union([OrbSchema, DryRunSchema]), headers);

const CountSchema = z.object({
  total: z.int(),
  totalExact: z.literal(false).optional().openapi({ description: "`false`: there are more than `total`" }),
});

export const ContentsSchema = z
  .object({
    entries: CountSchema.openapi({ description: "All entries: drafts and archived ones too" }),
    users: CountSchema.openapi({ description: "Accounts of the orb itself" }),
    files: CountSchema.openapi({ description: "Uploaded files" }),
  })
  .openapi("OrbContents", { description: "What an orb stores, and a deletion erases." });

const RouteSchema = z
  .object({
    method: z.string(),
    path: z.string(),
    orb: z.string(),
    origin: z.enum(["crud", "handler", "signin", "mcp"]),
    role: z.string().openapi({
      description: "The least role that may use it; `handler`: only handlers, for their callers",
      example: "user",
    }),
    handler: z.string().optional(),
  })
  .openapi("ActiveRoute");

export const RouteListSchema = z
  .object({ items: z.array(RouteSchema), nextCursor: z.string().nullable() })
  .openapi("ActiveRoutes");

const flag = (description: string) =>
  z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional()
    .openapi({ description });

export const PublishFlag = flag("Also publishes the new revision");
export const DryRunFlag = flag("Reports the effects on stored entries and writes nothing");
export const ForceFlag = flag("Removes modules and schemas even if they contain entries");

export const ChangeWithin = z.string().optional().openapi({
  description: "Id of a change set: the document as the set will leave it, for callers who may read the set",
});
export const ChangeInto = z.string().optional().openapi({
  description:
    "Id of a change set: the document goes into the set. The live one stays as it is until the set is published",
});
