/** Example values of entries, for descriptions of the API. */
import type { CompiledField, CompiledSchema } from "./compile.ts";
import type { Json } from "./fields/index.ts";
import { BLOCK } from "./rich-text.ts";
import { TYPE } from "./walk.ts";

const EXAMPLE_TEXT: Json = [
  {
    [TYPE]: BLOCK,
    children: [{ [TYPE]: "span", text: "An example." }],
  },
];

/** Maximum length of a generated example text. */
const MADE_UP = 1_000;

function textOf(length: Json | undefined): string | undefined {
  return typeof length === "number" && length <= MADE_UP ? "x".repeat(length) : undefined;
}

/** Returns an example value, or undefined if none can be generated, as for patterns and references. */
function exampleOf(schema: CompiledSchema, field: CompiledField): Json | undefined {
  if (field.shapes !== undefined) return exampleObject(schema, field);
  const { definition } = field;
  const first = definition.enum?.[0];
  const { default: standard } = definition;
  if (standard !== undefined) return standard as Json;
  const candidates: (Json | undefined)[] = [
    first,
    field.type.example,
    definition.min,
    definition.max,
    // If min and max limit the length of a text, try texts of these lengths.
    ...(field.type.bounds === "length" ? [textOf(definition.min), textOf(definition.max)] : []),
  ];
  for (const candidate of candidates) {
    if (candidate === undefined || field.targets.length > 0) continue;
    if (definition.enum !== undefined && candidate !== first) continue;
    let faults = 0;
    const report = () => {
      faults++;
    };
    const value = field.type.parse(candidate, report, definition);
    if (value !== undefined) field.rules(value, report);
    if (value !== undefined && faults === 0) return field.list ? [value] : value;
  }
  return undefined;
}

function exampleObject(schema: CompiledSchema, field: CompiledField): Json | undefined {
  const [[component, fields] = []] = field.shapes ?? [];
  const members = fields === undefined ? undefined : membersOf(schema, fields);
  if (members === undefined || Object.keys(members).length === 0) return undefined;
  if (component === BLOCK && field.definition.type === "richText") return EXAMPLE_TEXT;
  const object = field.blocks ? { [TYPE]: component ?? "", ...members } : members;
  return field.list ? [object] : object;
}

/** Returns example values of an entry; undefined if there is no example for a required field. */
export function exampleValues(schema: CompiledSchema): { [name: string]: Json } | undefined {
  return membersOf(schema, schema.fields);
}

function membersOf(
  schema: CompiledSchema,
  fields: ReadonlyMap<string, CompiledField>,
): { [name: string]: Json } | undefined {
  const values: { [name: string]: Json } = {};
  for (const field of fields.values()) {
    const single = exampleOf(schema, field);
    if (single === undefined) {
      if (field.required) return undefined;
      continue;
    }
    let value: Json = single;
    const [language] = schema.languages;
    const [market] = schema.markets;
    if (field.translatable && language !== undefined) value = { [language]: value };
    if (field.marketSpecific && market !== undefined) value = { [market]: value };
    values[field.key] = value;
  }
  return values;
}
