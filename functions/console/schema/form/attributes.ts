/**
 * All attributes that a document can contain, by kind of object. The form is generated from these tables. To add an
 * attribute, add a line here and a text in `en.json`.
 */
import {
  FIELD_TYPE_NAMES,
  type FieldTraits,
  isFieldType,
  takesRule,
  traitsOf,
} from "../../../../shared/definition/types/index.ts";
import type { TextKey } from "../../texts/t.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../document/pointer.ts";
import {
  ACTS,
  BUILT_IN,
  callersOf,
  modulesOf,
  type Owner,
  ownHandlers,
  siblings,
  targets,
} from "./choices.ts";

export type { Owner };

/** The text keys that begin with a prefix, without the prefix. */
type NameIn<A extends string> = TextKey extends infer K ? (K extends `${A}.${infer N}` ? N : never) : never;

/** How an attribute is edited. */
export type Control =
  | "id"
  | "text"
  | "long"
  | "flag"
  /** A flag whose value is `allLanguages`. */
  | "allLanguages"
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
  /** Whether the values are of one of several `options`, and which. */
  | "refs"
  /** A value that has the field's type, or a list of such values. */
  | "value"
  /** A limit for the field's values, or for their length. */
  | "bound"
  | "json"
  /** The rule that converts the values from before a change of type: the member `convert`. */
  | "conversion"
  /** The fields that the members of an object were: the member `fields`. */
  | "moves"
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

const rules = ({ object }: Owner): FieldTraits | undefined =>
  isFieldType(object.type) ? traitsOf(object.type) : undefined;

/** Returns the module that contains an object. Empty for the fields of components, which several modules may use. */
const moduleOf = ({ document, path }: Owner): JsonObject =>
  path.startsWith("/modules/") ? objectOf(listOf(document.modules)[Number(path.split("/")[2])]) : {};

/** Returns whether a field belongs to objects in the values of another field, or to a component. */
const isInside = ({ path }: Owner): boolean =>
  path.startsWith("/components/") || /\/fields\/\d+\/fields\//.test(path);

const name: Attribute = { name: "name", control: "text" };
const description: Attribute = { name: "description", control: "long" };
const handler: Attribute = { name: "handler", control: "suggest", options: ownHandlers };

/**
 * Creates the input for a minimum or maximum.
 * @param bounds `value` or `length`: the input appears only for field types whose value, or whose length, has limits
 */
const limit = (
  member: "min" | "max",
  bounds: FieldTraits["bounds"],
  label: Attribute["name"] = member,
): Attribute => ({
  name: member,
  label,
  control: "bound",
  half: true,
  when: (owner) => rules(owner)?.bounds === bounds,
});

const hasPattern = (owner: Owner) => rules(owner)?.pattern === true && owner.object.pattern !== undefined;
const isMap = (value: unknown) => typeof value === "object" && value !== null;
/** The earlier name, or a list of them. */
const was: readonly Attribute[] = [
  { name: "was", control: "text", half: true, when: ({ object }) => !Array.isArray(object.was) },
  { name: "was", control: "lines", half: true, when: ({ object }) => Array.isArray(object.was) },
];
/** Whether a rule may convert the values. The field of which a slug is made takes the same attribute. */
const isConverted = ({ object: { type, sensitive, from } }: Owner) =>
  objectOf(from).convert !== undefined ||
  (isFieldType(type) &&
    from === undefined &&
    type !== "slug" &&
    takesRule({ type, sensitive: sensitive === true }));
const isReference = ({ object }: Owner) => object.type === "reference";
const isFile = ({ object }: Owner) => object.type === "file";
const isRichText = ({ object }: Owner) => object.type === "richText";
const componentIds = ({ document }: Owner) =>
  listOf(document.components).map((component) => textOf(objectOf(component).id));
const hasHandler = ({ object }: Owner) => object.handler !== undefined;

const ATTRIBUTES = {
  general: [
    name,
    description,
    { name: "languages", control: "lines", half: true },
    { name: "markets", control: "lines", half: true },
  ],
  component: [
    { name: "id", control: "text", required: true, half: true },
    { ...name, half: true },
    description,
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
    ...was,
  ],
  schema: [
    { name: "id", control: "id", required: true, half: true },
    { ...name, half: true },
    description,
    ...was,
  ],
  schemaPreview: [{ name: "url", label: "previewUrl", control: "text" }],
  schemaAccess: [{ name: "access", control: "access" }],
  field: [
    { name: "name", label: "fieldName", control: "text", required: true, half: true },
    { name: "type", control: "choice", options: FIELD_TYPE_NAMES, required: true, half: true },
    { name: "label", control: "text", half: true },
    { name: "description", control: "text", half: true },
    ...was,
    {
      name: "ref",
      control: "suggest",
      required: true,
      options: targets,
      when: (owner) => isReference(owner) && !Array.isArray(owner.object.ref),
    },
    { name: "ref", label: "refs", control: "refs", options: targets, when: isReference },
    {
      name: "from",
      control: "suggest",
      options: siblings,
      half: true,
      when: (owner) => owner.object.type === "slug" && !isInside(owner) && !isMap(owner.object.from),
    },
    {
      name: "from",
      label: "fromFields",
      control: "moves",
      when: ({ object }) => objectOf(object.from).fields !== undefined,
    },
    {
      name: "component",
      control: "suggest",
      options: componentIds,
      when: ({ object }) => object.type === "object" && object.fields === undefined,
    },
    {
      name: "components",
      control: "lines",
      required: true,
      when: ({ object }) => object.type === "blocks",
    },
    { name: "components", control: "lines", half: true, when: isRichText },
    { name: "links", control: "lines", half: true, when: isRichText },
    { name: "styles", control: "lines", half: true, when: isRichText },
    { name: "marks", control: "lines", half: true, when: isRichText },
    { name: "lists", control: "lines", half: true, when: isRichText },
    { name: "accept", control: "lines", half: true, when: isFile },
    { name: "maxSize", control: "number", half: true, when: isFile },
    { name: "variants", control: "json", half: true, when: isFile },
    { name: "altRequired", control: "flag", half: true, when: isFile },
    { name: "public", control: "flag", half: true, when: isFile },
    {
      name: "required",
      control: "flag",
      half: true,
      when: ({ object }) => object.required !== "allLanguages",
    },
    {
      name: "required",
      label: "requiredAll",
      control: "allLanguages",
      half: true,
      when: ({ object }) => object.translatable === true || object.required === "allLanguages",
    },
    {
      name: "list",
      control: "flag",
      half: true,
      when: (owner) => owner.object.type !== "blocks" && !isRichText(owner),
    },
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
      name: "collation",
      control: "suggest",
      options: ({ document }) => listOf(document.languages).filter((tag) => typeof tag === "string"),
      half: true,
      when: ({ object }) => object.type === "string" && object.list !== true && object.sensitive !== true,
    },
    {
      name: "search",
      control: "flag",
      half: true,
      when: (owner) => rules(owner)?.searchable === true && owner.object.sensitive !== true,
    },
    {
      name: "scale",
      control: "number",
      required: true,
      half: true,
      when: ({ object }) => object.type === "decimal",
    },
    limit("min", "value"),
    limit("max", "value"),
    limit("min", "length", "minLength"),
    limit("max", "length", "maxLength"),
    { name: "pattern", control: "text", when: (owner) => rules(owner)?.pattern === true },
    { name: "message", control: "text", when: (owner) => hasPattern(owner) && !isMap(owner.object.message) },
    { name: "message", control: "json", when: (owner) => hasPattern(owner) && isMap(owner.object.message) },
    { name: "group", control: "text", half: true },
    { name: "width", control: "choice", options: ["half", "third"], none: "fullWidth", half: true },
    {
      name: "placeholder",
      control: "text",
      half: true,
      when: (owner) => rules(owner)?.kind === "text" || rules(owner)?.kind === "number",
    },
    { name: "showIf", control: "json" },
    { name: "from", label: "fromRule", control: "conversion", when: isConverted },
    {
      name: "format",
      control: "choice",
      options: ["grouped", "plain"],
      none: "numberFormat",
      half: true,
      when: (owner) => rules(owner)?.kind === "number",
    },
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
