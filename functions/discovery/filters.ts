import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { JsonSchema } from "../../shared/definition/fields/index.ts";
import { PROPERTIES } from "../../shared/entry/query/parameters.ts";
import type { Parameter } from "./document.ts";

/** Describes all filters of a list as one OpenAPI parameter of style `deepObject`. */
export function filterParameter(schema: CompiledSchema): Parameter {
  const fields = [...schema.fields.values()].filter((field) => field.operators.length > 0);
  const told = fields.map((field) => `${field.name} (${field.operators.join(", ")})`);
  const properties = Object.fromEntries(
    [
      ...fields.filter((field) => field.operators.includes("eq")).map((field) => field.name),
      ...PROPERTIES,
    ].map((name): [string, JsonSchema] => [name, { type: "string" }]),
  );
  return {
    name: "filter",
    in: "query",
    required: false,
    style: "deepObject",
    explode: true,
    schema: { type: "object", properties },
    example: {},
    description: [
      "`filter[field]=value`, or `filter[field][operator]=value`.",
      told.length === 0 ? "" : `Fields and their operators: ${told.join("; ")}.`,
      `Also ${PROPERTIES.join(", ")}.`,
    ]
      .filter(Boolean)
      .join(" "),
  };
}
