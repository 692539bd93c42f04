/**
 * All attributes that a document can contain, by kind of object. The form is generated from these tables. To add an
 * attribute, add a line here and a text in `en.json`.
 */
import { FIELD_RULES, FIELD_TYPES, type FieldRules, isFieldType } from "../../model/field-types.ts";
import type { TextKey } from "../../texts/t.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../document/pointer.ts";
import { ACTS, BUILT_IN, callersOf, modulesOf, type Owner, ownHandlers, targets } from "./choices.ts";

export type { Owner };

/** The text keys that begin with a prefix, without the prefix. */
type NameIn<A extends string> = TextKey extends infer K ? (K extends `${A}.${infer N}` ? N : never) : never;

/** How an attribute is edited. */
export type Control =
  | "id"
  | "text"
  | "long"
  | "flag"
  /** A flag that defaults to true. */
  | "unless"
  | "number"
  /** One of `options`. */
  | "choice"
  /** Text with `options` as suggestions. */
  | "suggest"
  /** Any number of `options`. */
  | "several"
  /** A list of strings, one per line. */
  | "lines"
  /** A list of values that have the field's type. */
  | "values"
  /** A value that has the field's type, or a list of such values. */
  | "value"
  /** A limit for the field's values, or for their length. */
  | "bound"
  | "json"
  | "colour"
  | "secret"
  /** Access rules for entries. */
  | "access";

export interface Attribute {
  name: NameIn<"attribute">;
  control: Control;
  /** Key of the attribute's texts, if another attribute of the same name has different texts. */
  label?: NameIn<"attribute">;
  options?: readonly string[] | ((owner: Owner) => readonly string[]);
  required?: boolean;
  /**
   * Returns whether the attribute applies. If an attribute is set but does not apply, it stays visible, so that the
   * user can remove it.
   */
  when?: (owner: Owner) => boolean;
  /** Label of the option that removes the attribute. If missing, there is no such option. */
  none?: NameIn<"choice">;
  /** Whether the input takes half the width, next to another attribute. */
  half?: boolean;
}

const rules = ({ object }: Owner): FieldRules | undefined =>
  isFieldType(object.type) ? FIELD_RULES[object.type] : undefined;

const moduleOf = ({ document, path }: Owner): JsonObject =>
  objectOf(listOf(document.modules)[Number(path.split("/")[2])]);

const name: Attribute = { name: "name", control: "text" };
const description: Attribute = { name: "description", control: "long" };
const handler: Attribute = { name: "handler", control: "suggest", options: ownHandlers };

/**
 * Creates the input for a minimum or maximum.
 * @param bounds `value` or `length`: the input appears only for field types whose value, or whose length, has limits
 */
const limit = (
  member: "min" | "max",
  bounds: FieldRules["bounds"],
  label: Attribute["name"] = member,
): Attribute => ({
  name: member,
  label,
  control: "bound",
  half: true,
  when: (owner) => rules(owner)?.bounds === bounds,
});

const isReference = ({ object }: Owner) => object.type === "reference";
const isFile = ({ object }: Owner) => object.type === "file";
const hasHandler = ({ object }: Owner) => object.handler !== undefined;

const ATTRIBUTES = {
  general: [
    name,
    description,
    { name: "languages", control: "lines", half: true },
    { name: "markets", control: "lines", half: true },
  ],
  signup: [
    { name: "signup", control: "choice", options: ["invitation", "open"], none: "invitation", half: true },
  ],
  session: [{ name: "ttl", control: "number", half: true }],
  branding: [
    { name: "name", control: "text", half: true },
    { name: "color", control: "colour", half: true },
    { name: "logo", control: "text" },
  ],
  provider: [
    { name: "id", control: "text", required: true, half: true },
    { name: "name", control: "text", half: true },
    { name: "issuer", control: "text", required: true },
    { name: "clientId", control: "text", required: true, half: true },
    { name: "clientSecret", control: "secret", half: true },
    { name: "scopes", control: "lines" },
  ],
  role: [
    { name: "id", control: "text", required: true, half: true },
    { name: "name", control: "text", required: true, half: true },
    { name: "extends", control: "choice", options: ["user", "admin"], none: "user" },
  ],
  use: [
    { name: "service", control: "suggest", options: Object.keys(BUILT_IN), required: true },
    {
      name: "handlers",
      control: "lines",
      required: true,
      when: ({ object }) => !Object.hasOwn(BUILT_IN, textOf(object.service)),
    },
    {
      name: "handlers",
      control: "several",
      required: true,
      options: ({ object }) => BUILT_IN[textOf(object.service)] ?? [],
      when: ({ object }) => Object.hasOwn(BUILT_IN, textOf(object.service)),
    },
    {
      name: "acts",
      control: "several",
      options: ACTS,
      when: ({ object }) => !Object.hasOwn(BUILT_IN, textOf(object.service)),
    },
  ],
  hook: [
    { name: "id", control: "text", required: true },
    {
      name: "on",
      control: "several",
      required: true,
      options: ["created", "updated", "published", "unpublished", "archived", "restored", "deleted"].map(
        (event) => `entry.${event}`,
      ),
    },
    {
      name: "module",
      control: "choice",
      none: "all",
      half: true,
      options: (owner) => modulesOf(owner).map(({ id }) => textOf(id)),
    },
    {
      name: "schema",
      control: "choice",
      none: "all",
      half: true,
      when: ({ object }) => object.module !== undefined,
      options: (owner) =>
        modulesOf(owner)
          .filter(({ id }) => id === owner.object.module)
          .flatMap(({ schemas }) => listOf(schemas).map((schema) => textOf(objectOf(schema).id))),
    },
    { ...handler, when: ({ object }) => object.url === undefined, half: true },
    {
      name: "mode",
      control: "choice",
      options: ["before", "after"],
      none: "choose",
      when: hasHandler,
      half: true,
    },
    { name: "required", label: "answer", control: "unless", when: ({ object }) => object.mode === "before" },
    { name: "url", control: "text", when: (owner) => !hasHandler(owner) },
  ],
  schedule: [
    { name: "id", control: "text", required: true, half: true },
    { ...handler, required: true, half: true },
    { name: "cron", control: "text", required: true, half: true },
    { name: "timeZone", control: "text", half: true },
    { name: "input", control: "json" },
  ],
  module: [
    { name: "id", control: "id", required: true, half: true },
    {
      name: "type",
      control: "choice",
      options: ["CONTENT", "CONFIG", "RULES", "TRANSACTIONS", "SETTINGS"],
      required: true,
      half: true,
    },
    name,
    description,
  ],
  schema: [{ name: "id", control: "id", required: true, half: true }, { ...name, half: true }, description],
  schemaAccess: [{ name: "access", control: "access" }],
  field: [
    { name: "name", label: "fieldName", control: "text", required: true, half: true },
    { name: "type", control: "choice", options: FIELD_TYPES, required: true, half: true },
    { name: "label", control: "text", half: true },
    { name: "description", control: "text", half: true },
    { name: "ref", control: "suggest", required: true, options: targets, when: isReference },
    { name: "accept", control: "lines", half: true, when: isFile },
    { name: "maxSize", control: "number", half: true, when: isFile },
    { name: "variants", control: "json", half: true, when: isFile },
    { name: "public", control: "flag", half: true, when: isFile },
    { name: "required", control: "flag", half: true },
    { name: "list", control: "flag", half: true },
    {
      name: "translatable",
      control: "flag",
      half: true,
      when: (owner) => moduleOf(owner).type !== "CONFIG",
    },
    {
      name: "marketSpecific",
      control: "flag",
      half: true,
      when: ({ document }) => listOf(document.markets).length > 0,
    },
    {
      name: "unique",
      control: "flag",
      half: true,
      when: (owner) => rules(owner)?.unique === true && owner.object.list !== true,
    },
    { name: "sensitive", control: "flag", half: true, when: (owner) => rules(owner)?.sensitive === true },
    {
      name: "index",
      control: "choice",
      options: ["ordered"],
      none: "noIndex",
      half: true,
      when: (owner) =>
        rules(owner)?.orderable === true &&
        ["list", "translatable", "marketSpecific", "sensitive"].every((flag) => owner.object[flag] !== true),
    },
    {
      name: "search",
      control: "flag",
      half: true,
      when: (owner) => rules(owner)?.searchable === true && owner.object.sensitive !== true,
    },
    limit("min", "value"),
    limit("max", "value"),
    limit("min", "length", "minLength"),
    limit("max", "length", "maxLength"),
    { name: "pattern", control: "text", when: (owner) => rules(owner)?.pattern === true },
    {
      name: "enum",
      control: "values",
      half: true,
      when: (owner) => rules(owner)?.enumerable === true && owner.object.sensitive !== true,
    },
    {
      name: "default",
      control: "value",
      half: true,
      when: (owner) => rules(owner)?.default === true && owner.object.sensitive !== true,
    },
  ],
  fieldAccess: [
    { name: "read", control: "several", options: callersOf, half: true },
    { name: "write", control: "several", options: callersOf, half: true },
  ],
} as const satisfies Readonly<Record<string, readonly Attribute[]>>;

export type Kind = keyof typeof ATTRIBUTES;

/** Returns the attributes that apply to an object, plus those that are set although they do not apply. */
export function attributesOf(kind: Kind, owner: Owner): readonly Attribute[] {
  const all: readonly Attribute[] = ATTRIBUTES[kind];
  const applies = ({ when }: Attribute) => when?.(owner) ?? true;
  return all.filter((one) => {
    const variants = all.filter(({ name: other }) => other === one.name);
    const value = owner.object[one.name];
    const misplaced = value !== undefined && value !== false && !variants.some(applies);
    return applies(one) || (misplaced && one === variants[0]);
  });
}
