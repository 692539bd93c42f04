import { z } from "@hono/zod-openapi";
import { FIELD_WIDTHS, MODULE_TYPES, NUMBER_FORMATS } from "../../shared/definition/document/index.ts";
import { FIELD_TYPE_NAMES } from "../../shared/definition/types/index.ts";
import { HANDLER_AUTH, HANDLER_KINDS } from "../../shared/handlers/contract/index.ts";

const words = {
  name: z.string().optional().openapi({ description: "Display name" }),
  description: z.string().optional(),
};

const callers = z.array(z.string()).openapi({ example: ["user", "own"] });

const AccessOverview = z
  .union([
    z.object({
      read: z.enum(["public", "user", "own", "admin"]),
      write: z.enum(["user", "admin", "owner"]),
    }),
    z.object({ read: callers, create: callers, update: callers, publish: callers, delete: callers }),
  ])
  .openapi({ description: "The short form if it says the same, otherwise a list for each action" });

const FlatFieldOverview = z
  .object({
    name: z.string().openapi({ example: "title" }),
    type: z.enum(FIELD_TYPE_NAMES),
    label: z.string().optional(),
    description: z.string().optional(),
    required: z.union([z.boolean(), z.literal("allLanguages")]).openapi({
      description:
        "Whether an entry needs a value; allLanguages: published entries need one in every language",
    }),
    list: z.boolean(),
    translatable: z.boolean().openapi({ description: "Has a value for each language" }),
    marketSpecific: z.boolean().openapi({ description: "Has a value for each market" }),
    sensitive: z.boolean().openapi({ description: "Masked in responses" }),
    unique: z.boolean(),
    key: z.boolean().openapi({ description: "Whether a value addresses an entry: `…/by/{field}/{value}`" }),
    access: z.object({ read: callers.optional(), write: callers.optional() }).optional().openapi({
      description:
        "Callers who may read and set the field, if these are not all callers who may read and write the entry",
    }),
    ref: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .openapi({
        description:
          "Target of the reference: orbId/moduleId/schemaId. A list if the values name the schema: `{ schema, id }`",
      }),
    options: z
      .string()
      .optional()
      .openapi({ description: "Path of the list of possible targets, if all are in one schema" }),
    enum: z.array(z.union([z.string(), z.number(), z.boolean()])).optional(),
    default: z.unknown().optional(),
    min: z.union([z.number(), z.string()]).optional(),
    max: z.union([z.number(), z.string()]).optional(),
    from: z.string().optional().openapi({ description: "The field of which a slug is made" }),
    scale: z.int().optional().openapi({ description: "Digits after the point of a decimal number" }),
    pattern: z.string().optional().openapi({ description: "Pattern in RE2 syntax" }),
    message: z
      .union([z.string(), z.record(z.string(), z.string())])
      .optional()
      .openapi({
        description:
          "What to tell people about a value that does not match the pattern; a text, or one per language",
      }),
    group: z.string().optional().openapi({ description: "Section of the form" }),
    width: z.enum(FIELD_WIDTHS).optional().openapi({ description: "Width in the form" }),
    placeholder: z.string().optional().openapi({ description: "What an empty input shows" }),
    showIf: z.unknown().optional().openapi({
      description:
        "JsonLogic rule over the entry's values; if it is not met, forms hide the field, and it is not required",
    }),
    styles: z.array(z.string()).optional().openapi({ description: "Styles that rich text allows" }),
    marks: z.array(z.string()).optional().openapi({ description: "Marks that rich text allows" }),
    lists: z.array(z.string()).optional().openapi({ description: "Lists that rich text allows" }),
    links: z.array(z.string()).optional().openapi({
      description: "Schemas to whose entries links of rich text may lead: orbId/moduleId/schemaId",
    }),
    format: z.enum(NUMBER_FORMATS).optional().openapi({ description: "How people see a number" }),
    search: z.boolean().openapi({ description: "The parameter `search` finds entries by its words" }),
    sortable: z.boolean(),
    filters: z
      .array(z.string())
      .openapi({ description: "Supported filter operators", example: ["eq", "in"] }),
    path: z.string().optional().openapi({
      description: "Name that filters use for a field inside an object, such as `seo.title`",
    }),
  })
  .openapi({ description: "A field, without the fields of its objects" });

export interface FieldView extends z.infer<typeof FlatFieldOverview> {
  fields?: FieldView[] | undefined;
  blocks?: { component: string; fields: FieldView[] }[] | undefined;
}

const innerFields = () => z.array(z.lazy((): z.ZodType<FieldView> => FieldOverview));

const FieldOverview = FlatFieldOverview.extend({
  fields: innerFields().optional().openapi({ description: "The fields of the objects" }),
  blocks: z
    .array(z.object({ component: z.string(), fields: innerFields() }))
    .optional()
    .openapi({ description: "The fields of each component that blocks can have" }),
}).openapi("FieldOverview");

const SchemaOverview = z
  .object({
    id: z.string().openapi({ example: "product" }),
    ...words,
    access: AccessOverview,
    href: z
      .string()
      .nullable()
      .openapi({ description: "Path of its entries; null if it has no automatic routes" }),
    preview: z.literal(true).optional().openapi({
      description: "Set if a site shows the entries, so that preview links can be made",
    }),
    fields: z.array(FieldOverview),
  })
  .openapi("SchemaOverview");

const ModuleOverview = z
  .object({
    id: z.string().openapi({ example: "catalog" }),
    type: z.enum(MODULE_TYPES),
    ...words,
    schemas: z.array(SchemaOverview),
  })
  .openapi("ModuleOverview");

const HandlerOverview = z
  .object({
    name: z.string().openapi({ description: "`<service>.<handler>`", example: "rules.evaluate" }),
    description: z.string().optional(),
    available: z.boolean().openapi({ description: "Whether it is registered" }),
    kind: z.enum(HANDLER_KINDS).optional(),
    auth: z.enum(HANDLER_AUTH).optional(),
    href: z
      .string()
      .nullable()
      .openapi({ description: "Path for POST, or of an HTTP handler; null for handlers of `access`" }),
    routes: z
      .array(z.object({ method: z.string(), path: z.string() }))
      .optional()
      .openapi({ description: "Documented routes of an HTTP handler" }),
    input: z.unknown().optional().openapi({ description: "JSON Schema" }),
    output: z.unknown().optional().openapi({ description: "JSON Schema" }),
  })
  .openapi("HandlerOverview");

const OrbOverview = z
  .object({
    id: z.string().openapi({ example: "shop" }),
    ...words,
    revision: z.int().openapi({ description: "Revision of the live document" }),
    languages: z.array(z.string()).openapi({ description: "The first is the default" }),
    markets: z.array(z.string()).openapi({ description: "The first is the default" }),
    roles: z
      .array(z.object({ id: z.string(), name: z.string(), extends: z.enum(["user", "admin"]) }))
      .optional()
      .openapi({ description: "Roles of the orb's own" }),
    realm: z.string().openapi({ description: "Realm of the orb's users: its own, or `auth`" }),
    links: z.object({
      signin: z.string().openapi({ description: "Sign-in page", example: "/api/shop/signin" }),
      openapi: z.string().openapi({ example: "/api/openapi?orb=shop" }),
    }),
    streams: z
      .array(z.object({ name: z.string(), description: z.string(), href: z.string() }))
      .openapi({ description: "Streams of the orb's public entries" }),
    modules: z.array(ModuleOverview),
    handlers: z.array(HandlerOverview),
  })
  .openapi("OrbOverview");

export const UnusableOrbSchema = z
  .object({
    id: z.string().openapi({ example: "shop" }),
    reason: z.string().openapi({
      description:
        "`newer_version`: a newer version of the platform stored the definition. Others: it is damaged",
      example: "newer_version",
    }),
  })
  .openapi("UnusableOrb");

export const Overview = z
  .object({
    version: z.string(),
    links: z.object({
      openapi: z.string(),
      docs: z.string(),
      health: z.string(),
      signin: z.string().openapi({ description: "Sign-in page of the shared realm" }),
      streams: z.string().openapi({ description: "Streams that a signed-in user can read" }),
    }),
    orbs: z.array(OrbOverview),
    unusableOrbs: z.array(UnusableOrbSchema).optional().openapi({
      description:
        "Published orbs of this page whose stored definition cannot be used. Their routes are 503, all others work",
    }),
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: "Cursor of the next page; null on the last one" }),
  })
  .openapi("Discovery");

export type AccessView = z.infer<typeof AccessOverview>;

export type OrbView = z.infer<typeof OrbOverview>;

export type UnusableOrb = z.infer<typeof UnusableOrbSchema>;
