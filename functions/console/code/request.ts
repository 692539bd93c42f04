/** Creates sample code for requests to the API of entries. */
import { traitsOf } from "../../../shared/definition/types/index.ts";
import { literal, member, type Sample } from "../model/code.ts";
import { type FieldModel, isRequired, type OrbModel, type SchemaModel } from "../model/orb.ts";

export const OPERATIONS = ["list", "get", "create", "update", "publish", "delete"] as const;
export type Operation = (typeof OPERATIONS)[number];

export interface CodeRequest {
  /** Origin of the platform. */
  origin: string;
  orb: OrbModel;
  module: string;
  schema: SchemaModel;
  /** Path of the schema's entries in the runtime API. */
  href: string;
  operation: Operation;
  /** Query of a list: filters, sort and limit. */
  query: URLSearchParams;
  /** Id of the entry, for the operations on one entry. */
  entry: string | undefined;
}

const ID = "ENTRY_ID";
const REVISION = 1;

const METHODS = {
  list: "GET",
  get: "GET",
  create: "POST",
  update: "PUT",
  publish: "POST",
  delete: "DELETE",
} as const;

function exampleOf({ type, enum: values, default: standard, list }: FieldModel): unknown {
  const [first] = values ?? [];
  const made = traitsOf(type).example ?? (type === "file" ? { file: ID } : ID);
  const one = standard ?? first ?? made;
  return list === true && !Array.isArray(one) ? [one] : one;
}

/** Returns example values for the required fields, or for the first fields if none is required. */
export function exampleValues({ languages, markets }: OrbModel, { fields }: SchemaModel): object {
  const required = fields.filter(isRequired);
  const by = (keys: readonly string[], value: unknown) => Object.fromEntries(keys.map((key) => [key, value]));
  return Object.fromEntries(
    (required.length > 0 ? required : fields.slice(0, 3)).map((field) => {
      let value = exampleOf(field);
      if (field.translatable === true) value = by(languages.slice(0, 2), value);
      if (field.marketSpecific === true) value = by(markets.slice(0, 2), value);
      return [field.name, value];
    }),
  );
}

const isNumber = (text: string) => /^-?\d+(\.\d+)?$/.test(text);
const asValue = (text: string) => (isNumber(text) ? Number(text) : text);

/**
 * Converts a query to the options of the client's method `list`: `filter[price][gte]=10` becomes `{ filter: { price: {
 * gte: 10 } } }`. In a group, each condition becomes an object of its own: `filter[or][0][hot][eq]=true` becomes `{
 * filter: { or: [{ hot: … }] } }`.
 */
function listOptions(query: URLSearchParams): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const filter: Record<string, Record<string, unknown>> = {};
  const or: object[] = [];
  for (const [name, text] of query) {
    const [, one, by = "eq"] = /^filter\[or\]\[\d+\]\[([^\]]+)\](?:\[([^\]]+)\])?$/.exec(name) ?? [];
    if (one !== undefined) {
      or.push({ [one]: { [by]: asValue(text) } });
      continue;
    }
    const [, field, operator = "eq"] = /^filter\[([^\]]+)\](?:\[([^\]]+)\])?$/.exec(name) ?? [];
    if (field !== undefined) filter[field] = { ...filter[field], [operator]: asValue(text) };
    else options[name] = asValue(text);
  }
  if (or.length > 0) return { filter: { ...filter, or }, ...options };
  return Object.keys(filter).length === 0 ? options : { filter, ...options };
}

const pathOf = ({ href, operation, entry = ID }: CodeRequest): string => {
  if (operation === "create" || operation === "list") return href;
  return `${href}/${entry}${operation === "publish" ? "/publish" : ""}`;
};

function callOf({ orb, module, schema, operation, query, entry = ID }: CodeRequest): string {
  const values = literal(exampleValues(orb, schema));
  const options = listOptions(query);
  const calls = {
    list: `list(${Object.keys(options).length === 0 ? "" : literal(options)})`,
    get: `get("${entry}")`,
    create: `create(${values}, { publish: true })`,
    update: `update({ id: "${entry}", revision: ${REVISION} }, ${values})`,
    publish: `publish({ id: "${entry}", revision: ${REVISION} })`,
    delete: `delete({ id: "${entry}", revision: ${REVISION} })`,
  };
  return `client.orb("${orb.id}")${member(module)}${member(schema.id)}.${calls[operation]}`;
}

/** Returns sample code for an operation on entries. */
export function sampleOf(request: CodeRequest): Sample {
  const { origin, orb, schema, operation, query } = request;
  const changes = operation === "update" || operation === "publish" || operation === "delete";
  const sends = operation === "create" || operation === "update";
  return {
    method: METHODS[operation],
    url: origin + pathOf(request),
    call: callOf(request),
    typed: true,
    ...(operation === "list" ? { query } : {}),
    ...(sends ? { body: { values: exampleValues(orb, schema) } } : {}),
    ...(changes ? { revision: REVISION } : {}),
    ...(operation === "delete" ? { silent: true } : {}),
  };
}
