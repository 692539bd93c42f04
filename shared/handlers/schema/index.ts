export { type Check, compileJsonSchema, type JsonSchema } from "./json-schema.ts";
export { definitionOf } from "./reference.ts";
