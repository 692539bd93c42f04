/**
 * The orb document, which describes one application. Types, validation and OpenAPI schemas derive from these zod
 * schemas.
 */
import { z } from "zod";
import { FIELD_TYPE_NAMES } from "../types/index.ts";
import { accessSchema, fieldAccessSchema, MAX_ROLES, rolesSchema } from "./access.ts";
import { ACTS } from "./acts.ts";
import { brandingSchema } from "./branding.ts";
import { HOOK_LIMITS, hookSchema } from "./hooks.ts";
import {
  canonicalLanguage,
  FIELD_NAME,
  HANDLER_PART,
  isReservedFieldName,
  isReservedKey,
  isReservedModuleId,
  isReservedOrbId,
  MARKET,
  MODULE_ID,
  ORB_ID,
  REF,
  SCHEMA_ID,
} from "./ids.ts";
import { previewSchema } from "./preview.ts";
import { providersSchema } from "./providers.ts";
import { SCHEDULE_LIMITS, scheduleSchema } from "./schedules.ts";
import { fromSchema } from "./source.ts";
import { words } from "./text.ts";
import { variantsSchema } from "./variants.ts";
import { workflowSchema } from "./workflow.ts";

export const LIMITS = {
  uses: 100,
  roles: MAX_ROLES,
  handlers: 100,
  modules: 100,
  schemas: 100,
  fields: 500,
  totalFields: 2_000,
  languages: 100,
  markets: 200,
  enum: 500,
  components: 100,
  /** Schemas to which the values of one field may refer. */
  targets: 50,
  /** Maximum objects inside each other in the values of a field. */
  levels: 8,
  /** Maximum styles, marks and lists that a rich text allows, each. */
  formats: 30,
  /** Maximum schemas that the links of a rich text may refer to. */
  links: 100,
} as const;

/** Minimum, maximum and default lifetime of a session, in seconds: one minute, one year, 24 hours. */
export const SESSION_TTL = { min: 60, max: 31_536_000, default: 86_400 } as const;

export const DEFAULT_LANGUAGE = "en";

export const MODULE_TYPES = ["CONTENT", "CONFIG", "RULES", "TRANSACTIONS", "SETTINGS"] as const;

/** How people see a number: with or without separators between groups of digits. */
export const NUMBER_FORMATS = ["grouped", "plain"] as const;

/** How much of the width of a form a field takes. */
export const FIELD_WIDTHS = ["full", "half", "third"] as const;

const reserved = (message: string) => ({ error: message, params: { code: "reserved" } });

const label = words.min(1).max(200).meta({ description: "Name for people." });
const description = words.max(5_000).meta({ description: "Description for people." });

const orbId = z
  .string()
  .regex(ORB_ID, "must be 2 to 63 lower-case letters, digits, hyphens or underscores and begin with a letter")
  .refine((id) => !isReservedOrbId(id), reserved("is a reserved orb id. Choose another one."))
  .meta({ description: "Orb id. Cannot be changed later.", example: "shop" });

const moduleId = z
  .string()
  .regex(MODULE_ID, "must be 1 to 63 lower-case letters, digits or hyphens and begin with a letter")
  .refine(
    (id) => !isReservedModuleId(id),
    reserved("is a reserved module id, because it is a route of every orb. Choose another one."),
  )
  .meta({ description: "Module id, unique in the orb.", example: "catalog" });

const schemaId = z
  .string()
  .regex(SCHEMA_ID, "must be 1 to 63 letters, digits or hyphens and begin with a letter")
  .meta({
    description: "Schema id, unique in kebab-case among the orb's modules of one type.",
    example: "product",
  });

const fieldName = z
  .string()
  .regex(FIELD_NAME, "must be 1 to 63 letters, digits or underscores and begin with a letter")
  .refine((name) => !isReservedFieldName(name), reserved("is a reserved field name. Choose another one."))
  .meta({ description: "Field name, unique in the schema.", example: "title" });

const handlerPart = z
  .string()
  .regex(HANDLER_PART, "must be 1 to 63 letters, digits, hyphens or underscores and begin with a letter");

const language = z
  .string()
  .refine((tag) => canonicalLanguage(tag) === tag, {
    error: "must be a BCP 47 language tag in canonical form, such as en, de-CH or zh-Hant",
    params: { code: "format" },
  })
  .meta({ description: "BCP 47 language tag.", example: "en" });

const market = z
  .string()
  .regex(MARKET, "must be 1 to 32 letters, digits, hyphens or underscores and begin with a letter")
  .refine((key) => !isReservedKey(key), reserved("is a reserved market name. Choose another one."))
  .meta({ description: "Market.", example: "US" });

const componentId = z
  .string()
  .regex(SCHEMA_ID, "must be 1 to 63 letters, digits or hyphens and begin with a letter")
  .refine((id) => !isReservedKey(id), reserved("is a reserved name. Choose another one."))
  .meta({ description: "Component id, unique in the document.", example: "quote" });

/** Names of styles, marks and lists. Links are told from marks by their keys, which are longer. */
const formats = (text: string, example: string[], least = 0) =>
  z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z][A-Za-z0-9-]{0,31}$/,
          "must be 1 to 32 letters, digits or hyphens and begin with a letter",
        )
        .refine((name) => !isReservedKey(name), reserved("is a reserved name. Choose another one.")),
    )
    .min(least)
    .max(LIMITS.formats)
    .optional()
    .meta({ description: text, example });

/** Earlier names of something that may be renamed. */
const earlierNames = (name: z.ZodString) =>
  z
    .union(
      [name, z.array(name).min(1).max(10)],
      "must be the earlier name, or a list of 1 to 10 earlier names, newest first",
    )
    .optional()
    .meta({
      description:
        "The name or the id that this had before, or a list of them, newest first. It keeps everything that is stored under that name.",
      example: "title",
    });

const scalar = z.union([z.string(), z.number(), z.boolean()], "must be a string, a number or a boolean");
const bound = z.union([z.number(), z.string()], "must be a number, or a date for date fields");
/** A text for people that reads after the name of a field. */
const complaint = words.min(1).max(500);
const complaints = z
  .record(z.string(), complaint)
  .refine((texts) => {
    const tags = Object.keys(texts);
    return tags.length > 0 && tags.every((tag) => canonicalLanguage(tag) === tag);
  }, 'must have a text for each language by its BCP 47 tag, such as {"en": "must be two letters"}')
  .meta({ description: "A text for each language." });
const reference = z.string().regex(REF, "must have the form orbId/moduleId/schemaId");
const flag = (text: string) => z.boolean().optional().meta({ description: text });

const flatFieldSchema = z
  .strictObject({
    name: fieldName,
    was: earlierNames(fieldName),
    type: z.enum(FIELD_TYPE_NAMES).meta({ description: "Type of the values.", example: "string" }),
    label: label.optional(),
    description: description.optional(),
    required: z
      .union([z.boolean(), z.literal("allLanguages")], 'must be true, false or "allLanguages"')
      .optional()
      .meta({
        description:
          "Entries must have a value: not null, no empty text and no empty list. allLanguages: published entries need one in every language.",
      }),
    list: flag("The value is a list. All rules apply to its items."),
    translatable: flag("The field has a value for each language."),
    marketSpecific: flag("The field has a value for each market."),
    sensitive: flag("Encrypted at rest and masked in responses."),
    unique: flag(
      "No two entries have the same value (per language and market, if the field has one for each). Texts are compared in Unicode NFC, without invisible characters and outer white space; case counts.",
    ),
    index: z.enum(["ordered"]).optional().meta({
      description:
        "ordered: lists of any size can be sorted by the field, and filtered by ranges of its values. Not for lists, and not for values that are translatable, market-specific or sensitive.",
    }),
    collation: language.optional().meta({
      description:
        "The language in whose order lists are sorted by the field, and ranges of its values are found. For string. Without it, texts are ordered by their characters' numbers in Unicode.",
      example: "sv",
    }),
    search: flag(
      "The list parameter search finds entries by the words of the field. For string and text, also lists of them, and for richText; not for sensitive values.",
    ),
    ref: z
      .union(
        [
          reference,
          z
            .array(reference)
            .min(1)
            .max(LIMITS.targets)
            .meta({ description: "One of several schemas. The values then name the schema, too." }),
        ],
        `must have the form orbId/moduleId/schemaId, or be a list of 1 to ${LIMITS.targets} such texts`,
      )
      .optional()
      .meta({
        description:
          "The schema that a field of type reference refers to: orbId/moduleId/schemaId. Or a list of schemas.",
        example: "shop/catalog/category",
      }),
    accept: z
      .array(
        z
          .string()
          .max(200)
          .regex(
            /^[a-z]+\/(\*|[a-z0-9][a-z0-9.+-]*)$/,
            "must be a type such as application/pdf, or a group of types such as image/*",
          ),
      )
      .min(1)
      .max(50)
      .optional()
      .meta({ description: "The types that a file may have.", example: ["image/*", "application/pdf"] }),
    maxSize: z.int().min(1).optional().meta({ description: "Maximum bytes of a file.", example: 5_000_000 }),
    public: flag("Everyone who knows the address of a file may download it, even from a draft."),
    altRequired: flag(
      "Entries can be published only if each image of the field has an alternative text in the orb's default language.",
    ),
    variants: variantsSchema.optional(),
    enum: z.array(scalar).min(1).max(LIMITS.enum).optional().meta({ description: "The allowed values." }),
    access: fieldAccessSchema.optional(),
    default: z.unknown().optional().meta({ description: "Value of entries that are written without one." }),
    min: bound
      .optional()
      .meta({ description: "Minimum value, or minimum length in characters for string and text." }),
    max: bound
      .optional()
      .meta({ description: "Maximum value, or maximum length in characters for string and text." }),
    from: fromSchema.optional(),
    scale: z.int().min(0).max(18).optional().meta({
      description: "Digits after the point of a decimal number.",
      example: 2,
    }),
    pattern: z.string().optional().meta({
      description: "RE2 pattern that must match somewhere in the value (anchor it with ^ and $).",
      example: "^[A-Z]{2}-\\d{4}$",
    }),
    message: z
      .union(
        [complaint, complaints],
        'must be a text of 1 to 500 characters, or an object with such a text for each language, such as {"en": "must be two letters"}',
      )
      .optional()
      .meta({
        description:
          "What the platform answers instead of the pattern to a value that does not match it. Continues a sentence that begins with the name of the field. A text, or a text for each language.",
        example: "must be two capital letters, a hyphen and four digits",
      }),
    group: label.optional().meta({
      description:
        "The section of the form that contains the field. Sections are in the order of their first fields.",
      example: "Delivery",
    }),
    width: z.enum(FIELD_WIDTHS).optional().meta({
      description: "How much of the form's width the field takes. Default: full.",
      example: "half",
    }),
    placeholder: words.min(1).max(200).optional().meta({
      description: "An example that an empty input shows. For text and numbers.",
    }),
    showIf: z
      .unknown()
      .optional()
      .meta({
        description:
          "A JsonLogic rule over the entry's values. If it is not met, forms hide the field, and the field is not required.",
        example: { "==": [{ var: "kind" }, "parcel"] },
      }),
    format: z.enum(NUMBER_FORMATS).optional().meta({
      description:
        "How people see a number. plain: 1948, as for years and codes. grouped: 1,948 or 1.948, as usual in the reader's language. Default: grouped.",
      example: "plain",
    }),
    component: componentId.optional().meta({
      description: "The component whose fields the objects have. For object, instead of fields.",
      example: "contact",
    }),
    components: z
      .array(componentId)
      .min(1)
      .max(LIMITS.components)
      .optional()
      .meta({
        description: "The components that blocks may have, also between the paragraphs of a rich text.",
        example: ["quote", "gallery"],
      }),
    styles: formats(
      "The styles that paragraphs of a rich text may have; the first is the default. Default: normal, h1 to h6 and blockquote.",
      ["normal", "h2", "h3", "blockquote"],
      1,
    ),
    marks: formats(
      "The marks that words of a rich text may have. Default: strong, em, underline, strike-through and code.",
      ["strong", "em", "code"],
    ),
    lists: formats("The lists that a rich text may have. Default: bullet and number.", ["bullet", "number"]),
    links: z
      .array(z.string().regex(REF, "must have the form orbId/moduleId/schemaId"))
      .min(1)
      .max(LIMITS.links)
      .optional()
      .meta({
        description: "The schemas whose entries the links of a rich text may refer to.",
        example: ["shop/pages/page"],
      }),
  })
  .meta({ description: "A field, without the fields of its objects." });

export interface FieldDefinition extends z.output<typeof flatFieldSchema> {
  fields?: FieldDefinition[] | undefined;
}

export const fieldSchema = flatFieldSchema
  .extend({
    fields: z
      .array(z.lazy((): z.ZodType<FieldDefinition, FieldDefinition> => fieldSchema))
      .min(1)
      .max(LIMITS.fields)
      .optional()
      .meta({ description: "The fields of the objects, for a field of type object." }),
  })
  .meta({ id: "OrbField", description: "A field of a schema, of a component or of an object." });

const componentSchema = z
  .strictObject({
    id: componentId,
    was: earlierNames(componentId),
    name: label.optional(),
    description: description.optional(),
    fields: z.array(fieldSchema).min(1).max(LIMITS.fields),
  })
  .meta({ id: "OrbComponent", description: "Fields that several objects and blocks have." });

/** A data structure, like a database table. */
const schemaSchema = z
  .strictObject({
    id: schemaId,
    was: earlierNames(schemaId),
    name: label.optional(),
    description: description.optional(),
    access: accessSchema.optional(),
    preview: previewSchema.optional(),
    fields: z.array(fieldSchema).max(LIMITS.fields),
  })
  .meta({ id: "OrbSchema", description: "A data structure inside a module." });

const moduleSchema = z
  .strictObject({
    id: moduleId,
    was: earlierNames(moduleId),
    type: z.enum(MODULE_TYPES).meta({ description: "Purpose of the module.", example: "CONTENT" }),
    name: label.optional(),
    description: description.optional(),
    schemas: z.array(schemaSchema).max(LIMITS.schemas),
  })
  .meta({ id: "OrbModule", description: "A feature module." });

const useSchema = z
  .strictObject({
    service: handlerPart.meta({ description: "Service.", example: "access" }),
    handlers: z
      .array(handlerPart)
      .min(1)
      .max(LIMITS.handlers)
      .meta({ description: "Names of its handlers.", example: ["passkey"] }),
    acts: z
      .array(z.enum(ACTS))
      .max(ACTS.length)
      .optional()
      .meta({
        description:
          "Operations that these handlers may do for their callers. A handler gets the acts that its registration also requests.",
        example: ["transactions:record"],
      }),
  })
  .meta({ id: "OrbUse", description: "Handlers of one service that the orb uses." });

export const orbDocumentSchema = z
  .strictObject({
    id: orbId,
    name: label.optional(),
    description: description.optional(),
    languages: z
      .array(language)
      .min(1)
      .max(LIMITS.languages)
      .default([DEFAULT_LANGUAGE])
      .meta({
        description: "Languages of translatable values; the first is the default.",
        example: ["en", "de"],
      }),
    markets: z
      .array(market)
      .max(LIMITS.markets)
      .default([])
      .meta({
        description: "Markets of market-specific values; the first is the default.",
        example: ["US", "EU"],
      }),
    branding: brandingSchema.optional(),
    access: z
      .strictObject({
        signup: z.enum(["invitation", "open"]).optional().meta({
          description:
            "open: everyone can register an account; invitation: only people with an invitation. Default: invitation.",
        }),
        signupRole: z.enum(["user"]).optional().meta({
          description: "Role of accounts that register without an invitation. Always user.",
        }),
        providers: providersSchema.optional(),
      })
      .optional()
      .meta({ id: "OrbSignup", description: "How people get an account of the orb." }),
    session: z
      .strictObject({
        ttl: z.int().min(SESSION_TTL.min).max(SESSION_TTL.max).meta({
          description: "Lifetime of the sessions of the orb's users, in seconds. Default: 86400.",
          example: 86_400,
        }),
      })
      .optional()
      .meta({ description: "Sessions of the orb's users." }),
    roles: rolesSchema.optional(),
    uses: z
      .array(useSchema)
      .max(LIMITS.uses)
      .default([])
      .meta({ description: "Service handlers that the orb uses." }),
    hooks: z
      .array(hookSchema)
      .max(HOOK_LIMITS.hooks)
      .optional()
      .meta({ description: "Handlers that take part in writes of entries." }),
    schedules: z
      .array(scheduleSchema)
      .max(SCHEDULE_LIMITS.schedules)
      .optional()
      .meta({ description: "Handlers that the platform calls at certain times." }),
    workflow: workflowSchema.optional(),
    components: z
      .array(componentSchema)
      .max(LIMITS.components)
      .optional()
      .meta({ description: "Fields that several objects and blocks have." }),
    modules: z
      .array(moduleSchema)
      .max(LIMITS.modules)
      .default([])
      .meta({ description: "Modules with their schemas." }),
  })
  .meta({
    id: "OrbDocument",
    description: "A declarative application: its handlers, modules, schemas and fields.",
  });

/** A valid document with defaults filled in. */
export type OrbDocument = z.output<typeof orbDocumentSchema>;
/** A document as clients send it. */
export type OrbDocumentInput = z.input<typeof orbDocumentSchema>;
export type ModuleDefinition = z.output<typeof moduleSchema>;
export type SchemaDefinition = z.output<typeof schemaSchema>;
export type ComponentDefinition = z.output<typeof componentSchema>;
export type ModuleType = (typeof MODULE_TYPES)[number];
