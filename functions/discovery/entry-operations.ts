/** Describes the operations on the entries of one schema of an application. */
import { type CompiledSchema, keyFields } from "../../shared/definition/compile.ts";
import { exampleValues } from "../../shared/definition/example.ts";
import type { JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { FILTER_LIMITS } from "../../shared/entry/query/index.ts";
import { entriesPath } from "../../shared/orb/routes.ts";
import { operations, operationWithId } from "../runtime/operations.ts";
import { namePart, type Operation, type Parameter, resolvedParameter } from "./document.ts";
import {
  bodySchemas,
  contentSchema,
  describeEntries,
  type Generic,
  type Making,
  responseSchemas,
} from "./entry-schemas.ts";
import {
  aggregateParameters,
  expandParameter,
  fieldFilters,
  fieldsParameter,
  isExpandable,
  PROPERTY_FILTERS,
  relatedFilters,
  sortParameter,
} from "./filters.ts";
import { requiredRole, securityFor } from "./roles.ts";

const FILTERS = `At most ${FILTER_LIMITS.conditions} filters, which must all hold. Group them with \`filter[or][0][field]=value&filter[or][1][field]=value\` and \`filter[not][field]=value\`.`;

type Given = Parameter | { $ref: string };

/** Returns the OpenAPI tag of a collection, which is its path without `/api/`. */
export const entriesTag = ({ compiled }: LiveOrb, schema: CompiledSchema) =>
  entriesPath(compiled, schema).replace("/api/", "");

/** Returns the OpenAPI tag of the operations that address an entry of the collection by a unique value. */
export const keyedTag = (live: LiveOrb, schema: CompiledSchema) =>
  `${entriesTag(live, schema)}: by a unique value`;

/** Restricts a parameter to names of the application, such as its languages. Omits it if there are none. */
function onlyThese(parameter: Parameter, names: readonly string[]): Parameter[] {
  return names.length === 0 ? [] : [{ ...parameter, schema: { type: "string", enum: [...names] } }];
}

/**
 * Describes the parameter `locale` of a read, which accepts any language, even one that the application does not have.
 */
function anyLanguage(parameter: Parameter, languages: readonly string[]): Parameter {
  const { pattern, ...schema } = parameter.schema as JsonSchema;
  const fits = languages.every((language) => new RegExp(String(pattern)).test(language));
  return fits ? parameter : { ...parameter, schema };
}

/** Replaces the general description of a parameter with the values that the schema allows. */
function narrowed(parameter: Parameter, schema: CompiledSchema, operationId: string): Parameter[] {
  const isWrite = takesValues(operationId);
  if (parameter.in === "path" && parameter.name === "field")
    return onlyThese(
      parameter,
      keyFields(schema).map(({ name }) => name),
    );
  switch (parameter.in === "query" ? parameter.name : undefined) {
    case "sort":
      return [sortParameter(schema)];
    case "fields":
      return [fieldsParameter(schema)];
    case "expand":
      return isExpandable(schema) ? [expandParameter(schema)] : [];
    case "search":
      return schema.searched.length === 0 ? [] : [parameter];
    case "group":
      return [];
    case "missing":
      return schema.translatable.length === 0 ? [] : onlyThese(parameter, schema.languages);
    case "locale":
      if (isMove(operationId)) return [parameter];
      return isWrite
        ? onlyThese(parameter, [...schema.languages, "*"])
        : [anyLanguage(parameter, schema.languages)];
    case "market":
      return isWrite ? onlyThese(parameter, schema.markets) : [parameter];
    default:
      return [parameter];
  }
}

const targetOf = (operationId: string) => operationWithId(operationId)?.at;

/** Returns whether an operation takes values, for which `locale` and `market` can be given. */
function takesValues(operationId: string): boolean {
  return operationWithId(operationId)?.parameters.has("publish") === true;
}

/** Returns whether an operation concerns an entry as a whole, in all languages and markets. */
function isMove(operationId: string): boolean {
  const at = targetOf(operationId);
  return at === "operation" || at === "revert";
}

/** Returns whether an operation changes or deletes all entries that match a filter. */
function isMany(operationId: string): boolean {
  return operationWithId(operationId)?.parameters.has("all") === true;
}

/** Returns whether an operation reads revisions. The description of these operations is the same for all schemas. */
function isHistory(operationId: string): boolean {
  const at = targetOf(operationId);
  return at === "revisions" || at === "revision";
}

function parametersOf(
  generic: Generic,
  live: LiveOrb,
  schema: CompiledSchema,
  operation: Operation,
): Given[] {
  const { operationId, parameters = [] } = operation;
  if (isHistory(operationId)) return [...parameters];
  const own = parameters.flatMap((given): Given[] => {
    const parameter = resolvedParameter(generic, given);
    const [only, ...others] = narrowed(parameter, schema, operationId);
    return only === parameter && others.length === 0 ? [given] : only === undefined ? [] : [only, ...others];
  });
  const isList = operationId === operations.list.id;
  if (!isList && !isMany(operationId)) return own;
  const aggregates = isList ? aggregateParameters(schema) : [];
  const filters = [...fieldFilters(schema), ...relatedFilters(live, schema)];
  return [...own, ...aggregates, ...filters, ...PROPERTY_FILTERS];
}

function answersOf(live: LiveOrb, schema: CompiledSchema, { operationId, responses }: Operation) {
  const { list, entry, written } = responseSchemas(live.orb, schema);
  const known: Readonly<Record<string, JsonSchema>> = {
    [operations.list.id]: list,
    [operations.get.id]: entry,
    [operations.getBy.id]: entry,
    [operations.create.id]: entry,
  };
  if (isMany(operationId) || isHistory(operationId)) return responses;
  const json = { "application/json": { schema: known[operationId] ?? written } };
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      contentSchema(response) === undefined
        ? response
        : { ...response, content: { ...(response.content as JsonSchema), ...json } },
    ]),
  );
}

export function entryOperation(
  generic: Generic,
  live: LiveOrb,
  schema: CompiledSchema,
  operation: Operation,
  part: Making,
): Operation {
  describeEntries(generic, live, schema, part);
  const { operationId, requestBody } = operation;
  const { text, role } = requiredRole(schema, operationId);
  const isCreate = operationId === operations.create.id;
  const isList = operationId === operations.list.id;
  const example = isCreate ? exampleValues(schema) : undefined;
  const bodies = bodySchemas(live.orb, schema);
  const sent: Readonly<Record<string, JsonSchema>> = {
    [operations.create.id]: bodies.create,
    [operations.patch.id]: bodies.patch,
    [operations.patchBy.id]: bodies.patch,
  };
  const title = schema.definition.name ?? `${schema.module}/${schema.id}`;
  return {
    ...operation,
    operationId: `${operationId}_${namePart(live.orb)}_${schema.module}_${schema.id}`,
    summary: `${operation.summary} (${title})`,
    description: [operation.description, text, isList ? FILTERS : ""].filter(Boolean).join(" "),
    tags: [targetOf(operationId) === "keyed" ? keyedTag(live, schema) : entriesTag(live, schema)],
    security: securityFor(role, operation.security),
    parameters: parametersOf(generic, live, schema, operation),
    // The body schema of a single entry does not apply to a change of many entries.
    ...(requestBody === undefined || isMany(operationId)
      ? {}
      : {
          requestBody: {
            ...requestBody,
            content: {
              "application/json": {
                schema: sent[operationId] ?? bodies.update,
                ...(example === undefined ? {} : { example: { values: example } }),
              },
            },
          },
        }),
    responses: answersOf(live, schema, operation),
    "x-role": role,
  };
}
