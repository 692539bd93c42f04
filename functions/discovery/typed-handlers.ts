/** Describes the built-in handlers of one orb: their input and output name the fields of the orb's own schemas. */
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { type ValuesForm, valuesSchema } from "../../shared/definition/describe.ts";
import type { ModuleType } from "../../shared/definition/document/document.ts";
import type { Json } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Handler } from "../../shared/handlers/contract/types.ts";
import { isObject } from "../../shared/kernel/json.ts";

/** The built-in handlers whose input or output contains values, and the type of their modules. */
const TYPED: Readonly<Record<string, { type: ModuleType; complete: boolean }>> = {
  "transactions.record": { type: "TRANSACTIONS", complete: true },
  "transactions.list": { type: "TRANSACTIONS", complete: true },
  "settings.get": { type: "SETTINGS", complete: false },
  "settings.set": { type: "SETTINGS", complete: false },
};

/** With more schemas than this, the description would be too large, and stays general. */
const MOST_SCHEMAS = 20;

/** A JSON Schema of an object, as the built-in handlers have them. */
type Described = { [keyword: string]: Json };

/** Converts `nullable` and `example` of OpenAPI 3.0 to JSON Schema. */
function toJsonSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(toJsonSchema);
  if (!isObject(value)) return value as Json;
  const { nullable, example: _, ...rest } = value as { [name: string]: Json };
  const members = Object.fromEntries(Object.entries(rest).map(([name, of]) => [name, toJsonSchema(of)]));
  return nullable === true && typeof members.type === "string"
    ? { ...members, type: [members.type, "null"] }
    : members;
}

const valuesOf = (schema: CompiledSchema, form: ValuesForm, complete: boolean) =>
  toJsonSchema(valuesSchema(schema, form, complete, false) as Json) as Described;

/**
 * Returns a schema with the values and the target of one of the orb's schemas.
 * @param named the parts of the target that must be present
 */
function forSchema(
  general: Described,
  schema: CompiledSchema,
  values: Described,
  named: readonly string[],
): Described {
  const properties = (general.properties ?? {}) as { [name: string]: Described };
  const required = (general.required ?? []) as string[];
  const target = (id: string, name: string) => ({ ...properties[name], enum: [id] });
  return {
    ...general,
    required: [...new Set([...required, ...named])],
    properties: {
      ...properties,
      module: target(schema.module, "module"),
      schema: target(schema.id, "schema"),
      ...(properties.values === undefined
        ? {}
        : { values: { ...values, ...description(properties.values) } }),
    },
  };
}

function description({ description: text }: Described): Described {
  return text === undefined ? {} : { description: text };
}

function choice(forms: readonly Described[]): Described {
  const [only] = forms;
  return forms.length === 1 && only !== undefined ? only : { anyOf: [...forms] };
}

/** Returns a handler with the input and output that it has in this orb. */
export function describedIn<H extends Handler>(live: LiveOrb, handler: H): H {
  const typed = Object.hasOwn(TYPED, handler.name) ? TYPED[handler.name] : undefined;
  if (typed === undefined || handler.kind !== "local") return handler;
  const modules = [...live.compiled.modules.values()].filter(({ type }) => type === typed.type);
  const schemas = modules.flatMap((module) =>
    [...module.schemas.values()].map((schema) => ({
      schema,
      // A request may omit what the orb has only once.
      named: [...(modules.length > 1 ? ["module"] : []), ...(module.only === undefined ? ["schema"] : [])],
    })),
  );
  if (schemas.length === 0 || schemas.length > MOST_SCHEMAS) return handler;
  const input = handler.input as Described;
  const output = (handler.output ?? {}) as Described;
  const answers = (general: Described) =>
    choice(schemas.map(({ schema }) => forSchema(general, schema, valuesOf(schema, "answer", false), [])));
  const { items, ...others } = (output.properties ?? {}) as { [name: string]: Described };
  return {
    ...handler,
    input: choice(
      schemas.map(({ schema, named }) =>
        forSchema(input, schema, valuesOf(schema, "input", typed.complete), named),
      ),
    ),
    output:
      items === undefined
        ? answers(output)
        : {
            ...output,
            properties: { ...others, items: { ...items, items: answers(items.items as Described) } },
          },
  };
}
