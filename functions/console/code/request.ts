/** Generates the sample code of a request: for curl, the TypeScript client and Python. */
import type { FieldModel, OrbModel, SchemaModel } from "../model/orb.ts";

export const OPERATIONS = ["list", "get", "create", "update", "publish", "delete"] as const;
export type Operation = (typeof OPERATIONS)[number];

export const LANGUAGES = ["curl", "typescript", "python"] as const;
export type CodeLanguage = (typeof LANGUAGES)[number];

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
  const examples = {
    string: "text",
    text: "Longer text",
    number: 9.5,
    integer: 1,
    boolean: true,
    date: "2027-01-31",
    datetime: "2027-01-31T12:00:00Z",
    json: {},
    reference: ID,
    file: { file: ID },
  };
  const one = standard ?? first ?? examples[type];
  return list === true && !Array.isArray(one) ? [one] : one;
}

/** Returns example values for the required fields. If no field is required, returns values for the first ones. */
export function exampleValues({ languages, markets }: OrbModel, { fields }: SchemaModel): object {
  const required = fields.filter((field) => field.required === true);
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

const isName = (text: string) => /^[A-Za-z_$][\w$]*$/.test(text);
const member = (name: string) => (isName(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

/** Writes a value as TypeScript, on one line. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, one]) => `${isName(name) ? name : JSON.stringify(name)}: ${literal(one)}`,
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
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

const pathOf = ({ href, operation, query, entry = ID }: CodeRequest): string => {
  if (operation === "create") return href;
  if (operation === "list") return query.size === 0 ? href : `${href}?${decodeURIComponent(String(query))}`;
  return `${href}/${entry}${operation === "publish" ? "/publish" : ""}`;
};

const bodyOf = ({ operation, orb, schema }: CodeRequest): object | undefined =>
  operation === "create" || operation === "update" ? { values: exampleValues(orb, schema) } : undefined;

const needsRevision = ({ operation }: CodeRequest) =>
  operation === "update" || operation === "publish" || operation === "delete";

function curl(request: CodeRequest): string {
  const body = bodyOf(request);
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl -g -X ${METHODS[request.operation]} ${quoted(`${request.origin}${pathOf(request)}`)}`,
    '-H "Authorization: Bearer $ORB_TOKEN"',
    ...(needsRevision(request) ? [`-H 'If-Match: "${REVISION}"'`] : []),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ].join(" \\\n  ");
}

function typescript(request: CodeRequest): string {
  const { origin, orb, module, schema, operation, query, entry = ID } = request;
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
  return [
    'import { createClient } from "composable-platform/client";',
    'import type { Orbs } from "./orbs.d.ts"; // made by: orb types',
    "",
    `const orb = createClient<Orbs>({ url: "${origin}", token: process.env.ORB_TOKEN }).orb("${orb.id}");`,
    `const result = await orb${member(module)}${member(schema.id)}.${calls[operation]};`,
  ].join("\n");
}

/** Writes a value as Python. */
function python(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}: ${python(one)}`)
    .join(", ")}}`;
}

function pythonCode(request: CodeRequest): string {
  const { origin, operation, query } = request;
  const body = bodyOf(request);
  const path = pathOf({ ...request, query: new URLSearchParams() });
  const revision = needsRevision(request) ? `, "If-Match": '"${REVISION}"'` : "";
  const lines = [
    "import os",
    "import requests",
    "",
    `response = requests.${METHODS[operation].toLowerCase()}(`,
    `    "${origin}${path}",`,
    `    headers={"Authorization": f"Bearer {os.environ['ORB_TOKEN']}"${revision}},`,
    ...(operation === "list" && query.size > 0 ? [`    params=${python(Object.fromEntries(query))},`] : []),
    ...(body === undefined ? [] : [`    json=${python(body)},`]),
    ")",
    "response.raise_for_status()",
    ...(operation === "delete" ? [] : ["print(response.json())"]),
  ];
  return lines.join("\n");
}

export function codeOf(request: CodeRequest, language: CodeLanguage): string {
  if (language === "curl") return curl(request);
  return language === "typescript" ? typescript(request) : pythonCode(request);
}
