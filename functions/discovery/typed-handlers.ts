/**
 * Describes the built-in handlers for one application. Their input and output schemas list the fields of that
 * application's schemas.
 */
import type { CompiledModule, CompiledSchema } from "../../shared/definition/compile.ts";
import { listsNames, type ValuesForm, valuesSchema } from "../../shared/definition/describe.ts";
import type { ModuleType } from "../../shared/definition/document/index.ts";
import type { Json } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Handler } from "../../shared/handlers/contract/index.ts";
import { isObject } from "../../shared/kernel/json.ts";

type Use = ValuesForm["use"];

/**
 * The built-in handlers whose input or output contains an entry's values. `type` is the module type that they work
 * on.
 */
const TYPED: Readonly<Record<string, { type: ModuleType; input: Use; output: Use }>> = {
  "transactions.record": { type: "TRANSACTIONS", input: "new", output: "answer" },
  "transactions.list": { type: "TRANSACTIONS", input: "new", output: "answer" },
  // Clients set settings one by one, so the response may lack required settings.
  "settings.get": { type: "SETTINGS", input: "change", output: "partial" },
  "settings.set": { type: "SETTINGS", input: "change", output: "partial" },
};

/**
 * Describe the schemas of an application one by one only if there are at most this many. Otherwise the description
 * would be too large.
 */
const MOST_SCHEMAS = 20;

/** A JSON Schema object, in the form that the built-in handlers use. */
type Described = { [keyword: string]: Json };

/** Converts the OpenAPI 3.0 keyword `nullable` to JSON Schema, and removes `example`. */
function toJsonSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(toJsonSchema);
  if (!isObject(value)) return value as Json;
  const { nullable, example: _, ...rest } = value as { [name: string]: Json };
  const members = Object.fromEntries(Object.entries(rest).map(([name, of]) => [name, toJsonSchema(of)]));
  return nullable === true && typeof members.type === "string"
    ? { ...members, type: [members.type, "null"] }
    : members;
}

const valuesOf = (schema: CompiledSchema, use: Use, named: boolean) =>
  toJsonSchema(valuesSchema(schema, { use, locales: "all", named }) as Json) as Described;

/**
 * Narrows a handler's general input or output to the fields of one schema of the application.
 * @param named which of the properties `module` and `schema` a request must contain
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

/** Narrows the input of `rules.evaluate` to the names of the modules and schemas with rules. */
function forRules(input: Described, modules: readonly CompiledModule[]): Described {
  const properties = input.properties as { [name: string]: Described };
  const required = [...(input.required as string[]), ...(modules.length > 1 ? ["module"] : [])];
  return choice(
    modules.map(({ id, schemas }) => ({
      ...input,
      required,
      properties: {
        ...properties,
        module: { ...properties.module, enum: [id] },
        schema: { ...properties.schema, enum: [...schemas.keys()] },
      },
    })),
  );
}

/** Returns the handler with input and output schemas that are specific to this application. */
export function describedIn<H extends Handler>(live: LiveOrb, handler: H): H {
  if (handler.name === "rules.evaluate" && handler.kind === "local") {
    const modules = [...live.compiled.modules.values()].filter(({ type }) => type === "RULES");
    const described = modules.length > 0 && modules.length <= MOST_SCHEMAS;
    return described ? { ...handler, input: forRules(handler.input as Described, modules) } : handler;
  }
  const typed = Object.hasOwn(TYPED, handler.name) ? TYPED[handler.name] : undefined;
  if (typed === undefined || handler.kind !== "local") return handler;
  const modules = [...live.compiled.modules.values()].filter(({ type }) => type === typed.type);
  const schemas = modules.flatMap((module) =>
    [...module.schemas.values()].map((schema) => ({
      schema,
      // A request may omit `module` if the application has only one module of this type, and `schema` if that module
      // has only one schema.
      named: [...(modules.length > 1 ? ["module"] : []), ...(module.only === undefined ? ["schema"] : [])],
    })),
  );
  if (schemas.length === 0 || schemas.length > MOST_SCHEMAS) return handler;
  const isNamed = listsNames(schemas.map(({ schema }) => schema));
  const input = handler.input as Described;
  const output = (handler.output ?? {}) as Described;
  const answers = (general: Described) =>
    choice(
      schemas.map(({ schema }) => forSchema(general, schema, valuesOf(schema, typed.output, isNamed), [])),
    );
  const { items, ...others } = (output.properties ?? {}) as { [name: string]: Described };
  return {
    ...handler,
    input: choice(
      schemas.map(({ schema, named }) =>
        forSchema(input, schema, valuesOf(schema, typed.input, isNamed), named),
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
