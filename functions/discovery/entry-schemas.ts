/**
 * Creates the OpenAPI schemas for one schema of an application: for its entries, for lists, and for the bodies of
 * writes.
 */
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { isLocalizedSchema, type ValuesForm, valuesSchema } from "../../shared/definition/describe.ts";
import type { ReferenceTarget } from "../../shared/definition/document/index.ts";
import type { Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { richTextsOf } from "../../shared/entry/model/index.ts";
import { PATHS } from "../runtime/definition-parts.ts";
import { type ApiDocument, ref } from "./document.ts";
import { isExpandable } from "./filters.ts";

export interface OrbPart {
  tags: ApiDocument["tags"];
  paths: ApiDocument["paths"];
  schemas: { [name: string]: JsonSchema };
  securitySchemes: { [name: string]: Json };
}

export interface Making extends OrbPart {
  /** Whether the OpenAPI schemas list every language and market. */
  named: boolean;
}

export type Generic = Pick<ApiDocument, "components" | "paths">;

export const COLLECTION = PATHS.collection;

export function textOf(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(": ");
}

export function contentSchema(node: Json | undefined): JsonSchema | undefined {
  const content = Reflect.get(Object(node), "content") as
    | { [type: string]: { schema?: JsonSchema } }
    | undefined;
  return content?.["application/json"]?.schema;
}

/** Resolves a `$ref`, and merges its target with the schemas in the target's `allOf`. */
function resolved(generic: Pick<ApiDocument, "components">, schema: JsonSchema | undefined): JsonSchema {
  const name = String(schema?.$ref ?? "").replace("#/components/schemas/", "");
  const found = generic.components.schemas[name] ?? schema ?? {};
  const { allOf, ...rest } = found;
  if (!Array.isArray(allOf)) return found;
  const parts = [...(allOf as JsonSchema[]).map((part) => resolved(generic, part)), rest];
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {})) as JsonSchema;
  const required = [...new Set(parts.flatMap((part) => (part.required as string[] | undefined) ?? []))];
  return { ...Object.assign({}, ...parts), properties, required };
}

function withMembers(schema: JsonSchema, members: { [name: string]: JsonSchema }): JsonSchema {
  const { properties } = schema as { properties?: { [name: string]: JsonSchema } };
  return { ...schema, properties: { ...properties, ...members } };
}

export function anyOf(schemas: JsonSchema[]): JsonSchema {
  const [only] = schemas;
  return schemas.length === 1 && only !== undefined ? only : { anyOf: schemas };
}

/** The schema of null. In OpenAPI 3.0, `nullable` has no effect next to a `$ref`, so `anyOf` combines both. */
const NULL: JsonSchema = { type: "string", nullable: true, enum: [null] };
/** Name of the OpenAPI schema for an entry without its values. */
const BARE = "EntryWithoutValues";

const baseOf = (orb: string, { module, id }: CompiledSchema) => `${orb}.${module}.${id}`;

/**
 * Suffixes of the names of OpenAPI schemas. `one`: values in one language and market. `all`: the response to
 * `locale=*`.
 */
const FORMS = { one: "", all: ".AllLocales" } as const;
type Locales = ValuesForm["locales"];

/**
 * Returns for which values of `locales` an OpenAPI schema is needed. `one` suffices if no field is translatable or
 * market-specific.
 */
const formsOf = (schema: CompiledSchema): readonly Locales[] =>
  isLocalizedSchema(schema) ? ["one", "all"] : ["one"];

/** Returns references to the OpenAPI schemas of responses with entries of a schema. */
export function responseSchemas(orb: string, schema: CompiledSchema) {
  const base = baseOf(orb, schema);
  const forms = formsOf(schema);
  const entries = forms.map((form) => ref(base + FORMS[form]));
  return {
    entry: anyOf(entries),
    list: anyOf(forms.map((form) => ref(`${base}${FORMS[form]}.List`))),
    /** Response to a write. It has no values if the caller may write, but may not read drafts. */
    written: anyOf([...entries, ref(BARE)]),
  };
}

export const bodySchemas = (orb: string, schema: CompiledSchema) => ({
  create: ref(`${baseOf(orb, schema)}.New`),
  update: ref(`${baseOf(orb, schema)}.Change`),
  patch: ref(`${baseOf(orb, schema)}.Patch`),
});

/**
 * Returns the OpenAPI schema of the entries that a reference points to. If the document does not describe these
 * entries, returns the general entry schema.
 */
function targetSchema(live: LiveOrb, target: ReferenceTarget, locales: Locales): JsonSchema {
  const here = target.orb === live.orb ? live.compiled.schemaNamed(target.module, target.schema) : undefined;
  const isDescribed = here !== undefined && live.compiled.modules.get(here.module)?.routed === true;
  if (!isDescribed) return ref("RuntimeEntry");
  return ref(baseOf(live.orb, here) + FORMS[isLocalizedSchema(here) ? locales : "one"]);
}

/** Returns the schema of the description of a file. */
function fileSchema(locales: Locales): JsonSchema {
  const map: JsonSchema = { type: "object", nullable: true, additionalProperties: { type: "string" } };
  const text: JsonSchema = locales === "one" ? { type: "string", nullable: true } : map;
  const part = { type: "number", minimum: 0, maximum: 1 } as const;
  const place = (names: readonly string[]): JsonSchema => ({
    ...{ type: "object", nullable: true, required: [...names] },
    properties: Object.fromEntries(names.map((name) => [name, part])),
  });
  return {
    type: "object",
    required: ["file", "alt", "caption", "focal", "crop"],
    properties: {
      file: { type: "string" },
      alt: text,
      caption: text,
      focal: place(["x", "y"]),
      crop: place(["x", "y", "w", "h"]),
    },
  };
}

function expandSchema(live: LiveOrb, schema: CompiledSchema, locales: Locales): JsonSchema {
  // The links of a rich text are several references of one name.
  const byName = Map.groupBy(schema.references, ({ name }) => name);
  const properties = [...schema.references, ...schema.files].map((field): [string, JsonSchema] => {
    const all = byName.get(field.name)?.flatMap((one) => one.targets) ?? [];
    const targets =
      field.definition.type === "file"
        ? [fileSchema(locales)]
        : all.map((target) => targetSchema(live, target, locales));
    let value = anyOf([...new Map(targets.map((one) => [JSON.stringify(one), one])).values(), NULL]);
    // References inside lists, or inside maps by language or market, are listed by the id of the entry.
    if (field.parent !== undefined) {
      const isById = field.list || field.repeated || locales === "all";
      return [field.name, isById ? { type: "object", nullable: true, additionalProperties: value } : value];
    }
    if (field.list) value = { type: "array", nullable: true, items: value };
    const maps = locales === "one" ? 0 : Number(field.translatable) + Number(field.marketSpecific);
    for (let i = 0; i < maps; i++) value = { type: "object", nullable: true, additionalProperties: value };
    return [field.name, value];
  });
  return {
    type: "object",
    description:
      "With `expand`: referenced entries by field, null if the caller cannot see the entry; descriptions of files by field, null if the file is gone",
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
}

const NOT_GUARANTEED =
  "Entries whose newest revision is older than a change of the definition can lack values that it has required since, and hold values that it no longer allows.";

/** Adds the OpenAPI schemas for the entries of one schema to the document. */
export function describeEntries(generic: Generic, live: LiveOrb, schema: CompiledSchema, part: Making): void {
  const base = baseOf(live.orb, schema);
  if (part.schemas[base] !== undefined) return;
  const { named, schemas } = part;
  const collection = generic.paths[COLLECTION];
  const entry = resolved(generic, contentSchema(collection?.post?.responses["201"]));
  const list = resolved(generic, contentSchema(collection?.get?.responses["200"]));
  const { expand: _, warnings = {}, ...members } = (entry.properties ?? {}) as { [name: string]: JsonSchema };
  const plain = { ...entry, properties: members };
  const { name, description } = schema.definition;
  const about = textOf(name, description);
  const only = (value: string): JsonSchema => ({ type: "string", enum: [value] });
  const place = { orb: only(live.orb), module: only(schema.module), schema: only(schema.id) };
  const sharedBelow = (prefix: string) => (inner: string, block: JsonSchema) => {
    schemas[`${prefix}.${inner}`] = block;
    return { $ref: `#/components/schemas/${prefix}.${inner}` };
  };
  for (const locales of formsOf(schema)) {
    const its = base + FORMS[locales];
    const share = sharedBelow(its);
    schemas[`${its}.Values`] = {
      ...valuesSchema(schema, { use: "answer", locales, named, revealed: true, share }),
      description: NOT_GUARANTEED,
    };
    schemas[its] = {
      ...withMembers(plain, {
        ...place,
        values: ref(`${its}.Values`),
        ...(isExpandable(schema) ? { expand: expandSchema(live, schema, locales) } : {}),
        ...(schema.references.length === 0 && richTextsOf(schema).length === 0 ? {} : { warnings }),
      }),
      description: [about, locales === "all" ? "With `locale=*`." : ""].filter(Boolean).join(" "),
    };
    schemas[`${its}.List`] = withMembers(list, { items: { type: "array", items: ref(its) } });
  }
  schemas[BARE] ??= {
    ...withMembers(plain, { values: { type: "object", maxProperties: 0 } }),
    description: "The response to a write by a caller who may not read drafts",
  };
  const input = (use: "new" | "change" | "patch") =>
    anyOf(
      [...formsOf(schema)].reverse().map((locales) => ({
        ...valuesSchema(schema, {
          use,
          locales,
          named,
          share: sharedBelow(`${base}${FORMS[locales]}.${PURPOSES[use]}`),
        }),
        ...(isLocalizedSchema(schema) ? { description: INPUTS[locales] } : {}),
      })),
    );
  const created = contentSchema(collection?.post?.requestBody);
  const { put, patch } = generic.paths[`${COLLECTION}/{id}`] ?? {};
  schemas[`${base}.New`] = withMembers(resolved(generic, created), { values: input("new") });
  schemas[`${base}.Change`] = withMembers(resolved(generic, contentSchema(put?.requestBody)), {
    ...place,
    values: input("change"),
  });
  schemas[`${base}.Patch`] = withMembers(resolved(generic, contentSchema(patch?.requestBody)), {
    ...place,
    values: input("patch"),
  });
}

/** Part of the names of schemas for values in requests. */
const PURPOSES = { new: "New", change: "Change", patch: "Patch" } as const;

const INPUTS: Record<Locales, string> = {
  all: "Without `locale` and `market`, or with `locale=*`: maps of all languages and markets",
  one: "With `locale` or `market`: the values of this language and market",
};
