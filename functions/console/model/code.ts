/** Writes a request as code: for curl, TypeScript and Python. */

export const LANGUAGES = ["curl", "typescript", "python"] as const;
export type CodeLanguage = (typeof LANGUAGES)[number];

export interface Sample {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Address without the query. */
  url: string;
  query?: URLSearchParams;
  body?: unknown;
  /** File that contains the request body. Used instead of `body`. */
  file?: string;
  /** Revision that the change is based on, sent as `If-Match`. */
  revision?: number;
  /**
   * TypeScript call to the client package, such as `client.stream("prices")`. If missing, the TypeScript sample uses
   * `fetch`.
   */
  call?: string;
  /** Whether the TypeScript sample imports the application's generated types. */
  typed?: boolean;
  /** Whether the response never ends. */
  stream?: boolean;
  /** Whether the response has no body. */
  silent?: boolean;
}

const isName = (text: string) => /^[A-Za-z_$][\w$]*$/.test(text);
export const member = (name: string) => (isName(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

/** Writes a value as TypeScript, on one line. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, one]) => `${isName(name) ? name : JSON.stringify(name)}: ${literal(one)}`,
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
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

const addressOf = ({ url, query }: Sample) =>
  query === undefined || query.size === 0 ? url : `${url}?${decodeURIComponent(String(query))}`;
const hasBody = ({ body, file }: Sample) => body !== undefined || file !== undefined;

function curl(sample: Sample): string {
  const { method, body, file, revision, stream } = sample;
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl -g ${stream === true ? "-N " : ""}-X ${method} ${quoted(addressOf(sample))}`,
    '-H "Authorization: Bearer $ORB_TOKEN"',
    ...(revision === undefined ? [] : [`-H 'If-Match: "${revision}"'`]),
    ...(hasBody(sample) ? ["-H 'Content-Type: application/json'"] : []),
    ...(file === undefined ? [] : [`-d @${file}`]),
    ...(body === undefined ? [] : [`-d ${quoted(JSON.stringify(body))}`]),
  ].join(" \\\n  ");
}

function typescript(sample: Sample): string {
  const { method, url, body, file, revision, call, typed, silent, stream } = sample;
  if (call !== undefined) {
    const client = `createClient${typed === true ? "<Orbs>" : ""}({ url: "${new URL(url).origin}", token: process.env.ORB_TOKEN })`;
    return [
      'import { createClient } from "composable-platform/client";',
      ...(typed === true ? ['import type { Orbs } from "./orbs.d.ts"; // made by: orb types'] : []),
      "",
      `const client = ${client};`,
      ...(stream === true
        ? [`for await (const { messages } of ${call}) console.log(messages);`]
        : [`console.log(await ${call});`]),
    ].join("\n");
  }
  const headers = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the code has the template.
    "authorization: `Bearer ${process.env.ORB_TOKEN}`",
    ...(revision === undefined ? [] : [`"if-match": '"${revision}"'`]),
    ...(hasBody(sample) ? ['"content-type": "application/json"'] : []),
  ];
  return [
    ...(file === undefined ? [] : ['import { readFile } from "node:fs/promises";', ""]),
    `const response = await fetch("${addressOf(sample)}", {`,
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    `  headers: { ${headers.join(", ")} },`,
    ...(file === undefined ? [] : [`  body: await readFile("${file}", "utf8"),`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body)}),`]),
    "});",
    "if (!response.ok) throw new Error(await response.text());",
    ...(silent === true ? [] : ["console.log(await response.json());"]),
  ].join("\n");
}

function pythonCode(sample: Sample): string {
  const { method, url, query, body, file, revision, stream, silent } = sample;
  const headers = [
    `"Authorization": f"Bearer {os.environ['ORB_TOKEN']}"`,
    ...(revision === undefined ? [] : [`"If-Match": '"${revision}"'`]),
    ...(file === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const params = query === undefined || query.size === 0 ? undefined : Object.fromEntries(query);
  return [
    "import os",
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    `    headers={${headers.join(", ")}},`,
    ...(params === undefined ? [] : [`    params=${python(params)},`]),
    ...(body === undefined ? [] : [`    json=${python(body)},`]),
    ...(file === undefined ? [] : [`    data=open("${file}", "rb"),`]),
    ...(stream === true ? ["    stream=True,"] : []),
    ")",
    "response.raise_for_status()",
    ...(stream === true
      ? ["for line in response.iter_lines():", "    print(line.decode())"]
      : silent === true
        ? []
        : ["print(response.json())"]),
  ].join("\n");
}

const WRITERS = { curl, typescript, python: pythonCode };

export const codeOf = (sample: Sample, language: CodeLanguage): string => WRITERS[language](sample);
