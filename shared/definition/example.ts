/** Example values of entries, for descriptions of the API. */
import type { CompiledField, CompiledSchema } from "./compile.ts";
import type { Json } from "./fields/index.ts";

const EXAMPLES: Record<string, Json> = {
  string: "Example",
  text: "An example of a longer text.",
  number: 49.5,
  integer: 3,
  boolean: true,
  date: "2026-01-31",
  datetime: "2026-01-31T12:00:00.000Z",
  json: { any: "value" },
};

/** Maximum length of a generated example text. */
const MADE_UP = 1_000;

function textOf(length: Json | undefined): string | undefined {
  return typeof length === "number" && length <= MADE_UP ? "x".repeat(length) : undefined;
}

/** Returns an example value, or undefined if none can be generated, as for patterns and references. */
function exampleOf(field: CompiledField): Json | undefined {
  const { definition } = field;
  const first = definition.enum?.[0];
  const { default: standard } = definition;
  if (standard !== undefined) return standard as Json;
  const candidates: (Json | undefined)[] = [
    first,
    EXAMPLES[definition.type],
    definition.min,
    definition.max,
    // If min and max limit the length of a text, try texts of these lengths.
    ...(field.type.bounds === "length" ? [textOf(definition.min), textOf(definition.max)] : []),
  ];
  for (const candidate of candidates) {
    if (candidate === undefined || definition.type === "reference") continue;
    if (definition.enum !== undefined && candidate !== first) continue;
    let faults = 0;
    const report = () => {
      faults++;
    };
    const value = field.type.parse(candidate, report);
    if (value !== undefined) field.rules(value, report);
    if (value !== undefined && faults === 0) return field.list ? [value] : value;
  }
  return undefined;
}

/** Returns example values of an entry; undefined if there is no example for a required field. */
export function exampleValues(schema: CompiledSchema): { [name: string]: Json } | undefined {
  const values: { [name: string]: Json } = {};
  for (const field of schema.fields.values()) {
    const single = exampleOf(field);
    if (single === undefined) {
      if (field.required) return undefined;
      continue;
    }
    let value: Json = single;
    const [language] = schema.languages;
    const [market] = schema.markets;
    if (field.translatable && language !== undefined) value = { [language]: value };
    if (field.marketSpecific && market !== undefined) value = { [market]: value };
    values[field.name] = value;
  }
  return values;
}
