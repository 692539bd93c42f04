import type { JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import {
  type DescribedRoute,
  describedRoutes,
  type FaultyEntry,
  type Handler,
  type HttpHandler,
  isFaulty,
  isRemote,
  namesIn,
  type RemoteHttpHandler,
} from "../../shared/handlers/contract/index.ts";
import { compileJsonSchema } from "../../shared/handlers/schema/index.ts";
import { bothForms, CALLERS } from "../../shared/orb/routes.ts";
import { type Method, namePart, type Operation, ref } from "./document.ts";
import { freeName, toOpenApi } from "./json-schema.ts";
import { ROLE_DESCRIPTIONS, securityFor } from "./roles.ts";
import { describedIn } from "./typed-handlers.ts";

/**
 * Returns whether callers must send a body. A missing body counts as `{}`, so a body is required if `{}` is not valid
 * input.
 */
function needsBody(input: Handler["input"]): boolean {
  const check = input === undefined ? [] : compileJsonSchema(input);
  return typeof check === "function" && check({}).length > 0;
}

const SERVICE_REFUSAL: JsonSchema = {
  description: "An error of the service",
  content: { "application/problem+json": { schema: ref("Problem") } },
};

/**
 * Returns the suffix of a handler's operation ids. Its parts are joined by single underscores, which keeps the suffix
 * unique for each handler.
 * @param route the handler's path below the application
 */
function handlerSuffix(orb: string, route: string): string {
  const [service, handler] = route.split("/");
  return handler === undefined
    ? `_${namePart(orb)}_${route}`
    : `OfService_${[orb, service ?? "", handler].map(namePart).join("_")}`;
}

/**
 * Describes calls of a handler for the OpenAPI document.
 * @param route the handler's path below the application
 * @param handler undefined if its registration is missing or invalid
 * @param part collects the schemas of the handler's input and output
 */
function handlerOperation(
  live: LiveOrb,
  route: string,
  full: string,
  handler: Handler | undefined,
  operation: Operation,
  part: { schemas: { [name: string]: JsonSchema } },
): Operation {
  const base = `${live.orb}.${route.replace("/", ".")}`;
  const take = (source: unknown, name: string): JsonSchema => {
    if (source === undefined) return {};
    if (part.schemas[name] === undefined) {
      const { schema, schemas } = toOpenApi(source, name);
      part.schemas[name] = schema;
      Object.assign(part.schemas, schemas);
    }
    return ref(name);
  };
  const described = handler === undefined ? undefined : describedIn(live, handler);
  const input = take(described?.input, `${base}.Input`);
  const output = take(described?.output, `${base}.Output`);
  const role = handler === undefined ? "public" : CALLERS[handler.auth];
  const success = operation.responses["200"];
  return {
    ...operation,
    operationId: operation.operationId + handlerSuffix(live.orb, route),
    summary: `Call ${full}`,
    description: [
      handler?.description ?? "Not registered at the moment.",
      `${ROLE_DESCRIPTIONS[role]}.`,
    ].join(" "),
    tags: [`${live.orb}: handlers`],
    security: securityFor(role, operation.security),
    requestBody: {
      required: needsBody(handler?.input),
      content: { "application/json": { schema: input } },
    },
    responses: {
      ...operation.responses,
      "200": { ...success, content: { "application/json": { schema: output } } },
      ...(handler?.kind === "local" ? {} : { "4XX": SERVICE_REFUSAL }),
    },
    "x-role": role,
    "x-handler": full,
  };
}

/**
 * Describes a route of an HTTP handler.
 * @param operation lists the errors that the platform returns before it calls the handler
 * @param part receives the schemas from the service's registration
 */
function httpOperation(
  live: LiveOrb,
  handler: HttpHandler | RemoteHttpHandler,
  route: DescribedRoute,
  operation: Operation,
  part: { schemas: { [name: string]: JsonSchema } },
): Operation {
  const role = CALLERS[handler.auth];
  const { summary, description, parameters = [], requestBody, responses } = route.operation ?? {};
  const words = route.path.match(/\w+/g) ?? [];
  const converted = (source: unknown): JsonSchema => {
    if (source === undefined) return {};
    const name = freeName(part.schemas, [live.orb, ...words, route.method].join("."));
    part.schemas[name] = {};
    const { schema, schemas } = toOpenApi(source, name);
    Object.assign(part.schemas, schemas, { [name]: schema });
    return ref(name);
  };
  const contentOf = (content: { [type: string]: { schema?: unknown } } = {}) =>
    Object.fromEntries(
      Object.entries(content).map(([type, { schema }]) => [type, { schema: converted(schema) }]),
    );
  const given = parameters.map(({ name, in: place, description, required, schema }) => ({
    name,
    in: place,
    ...(description === undefined ? {} : { description }),
    required: place === "path" || required === true,
    schema: schema === undefined ? { type: "string" } : converted(schema),
  }));
  const known = new Set(given.filter((each) => each.in === "path").map(({ name }) => name));
  const missing = namesIn(route.path).filter((name) => !known.has(name));
  const refusals = Object.entries(operation.responses).filter(([status]) =>
    (isRemote(handler) ? /^(401|403|413|429|502|503|504)$/ : /^(401|403|429|503|504)$/).test(status),
  );
  const answers = Object.entries(responses ?? {}).map(([status, { description, content }]) => [
    status,
    { description, ...(content === undefined ? {} : { content: contentOf(content) }) },
  ]);
  return {
    operationId: ["httpHandler", route.method.toLowerCase(), namePart(live.orb), ...words].join("_"),
    summary: summary ?? `${handler.name}, over HTTP`,
    description: [description ?? handler.description, `${ROLE_DESCRIPTIONS[role]}.`].join(" "),
    tags: [`${live.orb}: handlers`],
    security: securityFor(role, operation.security),
    parameters: [
      ...missing.map((name) => ({ name, in: "path" as const, required: true, schema: { type: "string" } })),
      ...given,
    ],
    ...(requestBody === undefined
      ? {}
      : {
          requestBody: {
            ...(requestBody.description === undefined ? {} : { description: requestBody.description }),
            required: requestBody.required === true,
            content: contentOf(requestBody.content),
          },
        }),
    responses: {
      ...Object.fromEntries(refusals),
      default: { description: "The handler's response" },
      ...Object.fromEntries(answers),
    },
    "x-role": role,
    "x-scope": operation["x-scope"] ?? null,
    "x-handler": handler.name,
  };
}

export type Handlers = ReadonlyMap<string, Handler | FaultyEntry>;

/** Adds the routes of an application's handlers to the OpenAPI document. */
export function describeHandlers(
  live: LiveOrb,
  handlers: Handlers,
  { method, operation }: { method: Method; operation: Operation },
  part: { schemas: { [name: string]: JsonSchema } },
  add: (path: string, method: Method, operation: Operation) => void,
): void {
  const ids = new Set<string>();
  /** Returns an unused operation id. Services choose their paths, so two paths can result in the same id. */
  const freeId = (wanted: string): string => {
    let id = wanted;
    for (let n = 2; ids.has(id); n++) id = `${wanted}_${n}`;
    ids.add(id);
    return id;
  };
  for (const [route, full] of live.compiled.handlers) {
    const found = handlers.get(full);
    const handler = found === undefined || isFaulty(found) ? undefined : found;
    if (handler?.kind === "http") {
      for (const described of describedRoutes(handler, route)) {
        const own = httpOperation(live, handler, described, operation, part);
        const [short, long] = bothForms(live.orb, described.path);
        const lower = described.method.toLowerCase() as Method;
        add(short, lower, { ...own, operationId: freeId(own.operationId) });
        add(long, lower, { ...own, operationId: freeId(`${own.operationId}_called`) });
      }
      continue;
    }
    const called = handlerOperation(live, route, full, handler, operation, part);
    add(`/api/${live.orb}/call/${route}`, method, called);
    // Operation ids must be unique. A handler's name may itself end in `Directly`, so put this word before the name.
    const direct = `${operation.operationId}Directly${handlerSuffix(live.orb, route)}`;
    add(`/api/${live.orb}/${route}`, method, { ...called, operationId: direct });
  }
}
