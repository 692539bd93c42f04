import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import { PREFIXES } from "../http/prefixes.ts";
import { REQUEST_HEADERS } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import { exactSchemas, freeName } from "./json-schema.ts";

const METHODS = ["get", "put", "patch", "post", "delete", "head", "options"] as const;
export type Method = (typeof METHODS)[number];

export interface Parameter {
  name: string;
  in: "path" | "query" | "header" | "cookie";
  [member: string]: Json;
}

export interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: { [scheme: string]: string[] }[];
  description?: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: JsonSchema;
  responses: { [status: string]: JsonSchema };
  [extension: `x-${string}`]: Json;
}

export type PathItem = { [method in Method]?: Operation };

export interface Components {
  schemas: { [name: string]: JsonSchema };
  parameters: { [name: string]: Json };
  responses: { [name: string]: Json };
  headers: { [name: string]: Json };
  securitySchemes: { [name: string]: Json };
}

export interface ApiDocument {
  openapi: string;
  info: JsonSchema;
  servers: Json[];
  tags: { name: string; description: string }[];
  paths: { [path: string]: PathItem };
  components: Components;
  /** The published orbs, in the description of the platform. */
  "x-orbs"?: { id: string; name?: string; openapi: string }[];
}

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Returns a parameter of an operation. If it is a `$ref`, returns the component that it refers to. */
export function resolvedParameter(
  { components }: Pick<ApiDocument, "components">,
  parameter: Parameter | { $ref: string },
): Parameter {
  const name = String(Reflect.get(parameter, "$ref") ?? "").replace("#/components/parameters/", "");
  return (components.parameters[name] ?? parameter) as Parameter;
}

export function operationsOf(
  paths: ApiDocument["paths"],
): { path: string; method: Method; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
}

export function generated(router: OpenAPIHono<AppEnv>): Pick<ApiDocument, "paths" | "components"> {
  const made = router.getOpenAPIDocument({ openapi: "3.0.3", info: { title: "", version: "" } });
  const exact = exactSchemas(JSON.parse(JSON.stringify(made)) as Json);
  const { paths = {}, components = {} } = exact as Partial<ApiDocument>;
  // Route definitions contain middleware, which does not belong in an OpenAPI document.
  for (const { operation } of operationsOf(paths)) {
    Reflect.deleteProperty(operation, "middleware");
    const open = operation.security.length === 0 || operation.security.some((way) => isEmpty(way));
    operation["x-role"] ??= open ? "public" : "user";
  }
  return {
    paths,
    components: {
      schemas: {},
      parameters: {},
      responses: {},
      headers: {},
      securitySchemes: {},
      ...components,
    },
  };
}

/** Escapes a name for use in an operation id, whose parts are joined by single underscores. */
export const namePart = (name: string) => name.replaceAll("_", "__");

const isEmpty = (way: object) => Object.keys(way).length === 0;

/**
 * The management API has two equivalent path prefixes. Adds its operations a second time, under the second prefix.
 * @returns the tags of the added operations
 */
export function describeTwins(paths: ApiDocument["paths"]): ApiDocument["tags"] {
  const [first, second] = PREFIXES;
  const tags = new Map<string, string>();
  const named = (tag: string) => {
    const name = `${tag} (${second})`;
    tags.set(name, `The same operations as ${tag}, under the second prefix of the management API.`);
    return name;
  };
  for (const { path, method, operation } of operationsOf(paths)) {
    if (path !== first && !path.startsWith(`${first}/`)) continue;
    const twin = second + path.slice(first.length);
    paths[twin] ??= {};
    paths[twin][method] = {
      ...structuredClone(operation),
      operationId: `${operation.operationId}At_orbs`,
      tags: operation.tags.map(named),
      description: `The same as \`${method.toUpperCase()} ${path}\`.`,
    };
  }
  return [...tags].map(([name, description]) => ({ name, description }));
}

const HEADER_NAMES = new Map(REQUEST_HEADERS.split(", ").map((name) => [name.toLowerCase(), name] as const));

/** Capitalises header names as usual, because route definitions write them in lower case. */
export function nameHeaders(paths: ApiDocument["paths"]): void {
  for (const { operation } of operationsOf(paths)) {
    for (const parameter of operation.parameters ?? []) {
      if (!("name" in parameter) || parameter.in !== "header") continue;
      parameter.name = HEADER_NAMES.get(parameter.name.toLowerCase()) ?? parameter.name;
    }
  }
}

/** Moves parameters and errors that many operations share into `components`. */
export function shareParts({ paths, components }: Pick<ApiDocument, "paths" | "components">): void {
  const uses = new Map<string, number>();
  const all = operationsOf(paths);
  for (const { operation } of all) {
    for (const parameter of operation.parameters ?? []) {
      const text = JSON.stringify(parameter);
      uses.set(text, (uses.get(text) ?? 0) + 1);
    }
  }
  const names = new Map<string, string>();
  for (const { operation } of all) {
    const parameters = operation.parameters?.map((parameter) => {
      const text = JSON.stringify(parameter);
      if (!("name" in parameter) || (uses.get(text) ?? 0) < 2) return parameter;
      let name = names.get(text);
      if (name === undefined) {
        name = freeName(components.parameters, `${parameter.in}.${parameter.name}`);
        names.set(text, name);
        components.parameters[name] = parameter;
      }
      return { $ref: `#/components/parameters/${name}` };
    });
    if (parameters !== undefined) operation.parameters = parameters;
    for (const [status, response] of Object.entries(operation.responses)) {
      shareHeaders(components, response);
      const types = Object.keys(response.content ?? {});
      if (types.length === 1 && types[0] === "application/problem+json") {
        // Only some routes have the headers of an earlier shape.
        const name = `${Object.keys(shapeIn(response)).length === 0 ? "" : "Shaped"}Problem${status}`;
        components.responses[name] ??= problemResponse(Number(status), response);
        operation.responses[status] = { $ref: `#/components/responses/${name}` };
      }
    }
  }
}

/** Returns the headers that responses in the shape of an earlier revision have. */
function shapeIn({ headers }: JsonSchema): JsonSchema {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return {};
  const own = Object.entries(headers).filter(([name]) => name === "Orb-Definition" || name === "Deprecation");
  return Object.fromEntries(own);
}

function shareHeaders(components: Components, response: JsonSchema): void {
  const { headers } = response;
  if (typeof headers !== "object" || headers === null) return;
  for (const [name, header] of Object.entries(headers)) {
    const text = JSON.stringify(header);
    const known = Object.entries(components.headers).find(([, other]) => JSON.stringify(other) === text);
    const key = known?.[0] ?? freeName(components.headers, name);
    components.headers[key] ??= header;
    Reflect.set(headers, name, { $ref: `#/components/headers/${key}` });
  }
}

const EXAMPLES: Record<number, { code: string; detail: string; errors?: JsonSchema[] }> = {
  400: {
    code: "invalid_parameter",
    detail: "Query parameters or headers are not valid. See errors for each one.",
  },
  401: { code: "authentication_required", detail: "This needs you to be signed in." },
  403: { code: "forbidden", detail: "You may not do this." },
  404: { code: "entry_not_found", detail: "There is no such entry." },
  409: {
    code: "unique_conflict",
    detail: "is already used by another entry",
    errors: [{ path: "/values/sku", code: "unique", message: "is already used by another entry" }],
  },
  410: {
    code: "invitation_used",
    detail: "This invitation was already used. Ask for a new one, or sign in.",
  },
  412: { code: "revision_mismatch", detail: "There is a newer revision." },
  413: { code: "body_too_large", detail: "The body must be smaller than 512 KiB. Send less in one request." },
  415: { code: "not_json", detail: "The body must be JSON. Send it with Content-Type: application/json." },
  422: {
    code: "validation_failed",
    detail: "One value is not valid.",
    errors: [{ path: "/values/title", code: "required", message: "is required" }],
  },
  429: { code: "too_many_requests", detail: "Too many attempts. Try again in a minute." },
  502: {
    code: "handler_failed",
    detail: "The handler failed. Look for the error in the log of its service.",
  },
  503: {
    code: "broker_unavailable",
    detail: "The platform's storage cannot be reached. Try again in a few seconds.",
  },
  504: {
    code: "broker_timeout",
    detail: "The platform's storage did not respond in time. Try again; a write may have succeeded.",
  },
};

const RETRY = {
  "Retry-After": { schema: { type: "string" }, description: "Seconds to wait before a retry" },
};
const HEADERS: Record<number, JsonSchema> = {
  401: { "WWW-Authenticate": { schema: { type: "string" }, description: 'Bearer realm="platform"' } },
  429: RETRY,
  503: RETRY,
  504: RETRY,
};

function problemResponse(status: number, response: JsonSchema): JsonSchema {
  const example = EXAMPLES[status];
  if (example === undefined) return response;
  const { code, detail, errors } = example;
  const title = String(response.description ?? "Error");
  const headers = { ...HEADERS[status], ...shapeIn(response) };
  return {
    description: title,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        example: {
          type: `urn:problem:${code}`,
          title,
          status,
          detail,
          code,
          ...(errors === undefined ? {} : { errors }),
        },
      },
    },
  };
}
