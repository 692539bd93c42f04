import type { JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Handler, HttpHandler } from "../../shared/handlers/contract/types.ts";
import { compileJsonSchema } from "../../shared/handlers/schema/json-schema.ts";
import { CALLERS } from "../../shared/orb/routes.ts";
import { namePart, type Operation, ref } from "./document.ts";
import { toOpenApi } from "./json-schema.ts";
import { ROLE_DESCRIPTIONS, securityFor } from "./roles.ts";
import { describedIn } from "./typed-handlers.ts";

/** Returns whether callers must send a body. A missing body counts as `{}`, so they must if `{}` is invalid. */
function needsBody(input: Handler["input"]): boolean {
  const check = input === undefined ? [] : compileJsonSchema(input);
  return typeof check === "function" && check({}).length > 0;
}

const SERVICE_REFUSAL: JsonSchema = {
  description: "An error of the service",
  content: { "application/problem+json": { schema: ref("Problem") } },
};

/**
 * Returns the end of an operation id of a handler. Single underscores join its parts, so ids stay unique.
 * @param route path of the handler below the orb
 */
export function handlerSuffix(orb: string, route: string): string {
  const [service, handler] = route.split("/");
  return handler === undefined
    ? `_${namePart(orb)}_${route}`
    : `OfService_${[orb, service ?? "", handler].map(namePart).join("_")}`;
}

/**
 * Describes calls of a handler for the OpenAPI document.
 * @param route path of the handler below the orb
 * @param handler undefined if its registration is missing or invalid
 * @param part receives the schemas of input and output
 */
export function handlerOperation(
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
 * @param operation describes the errors that the platform returns before it calls the handler
 */
export function httpOperation(
  live: LiveOrb,
  handler: HttpHandler,
  route: { method: string; path: string },
  operation: Operation,
): Operation {
  const role = CALLERS[handler.auth];
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const refusals = Object.entries(operation.responses).filter(([status]) =>
    /^(401|403|429|503|504)$/.test(status),
  );
  return {
    operationId: [
      "httpHandler",
      route.method.toLowerCase(),
      namePart(live.orb),
      ...(route.path.match(/\w+/g) ?? []),
    ].join("_"),
    summary: `${handler.name}, over HTTP`,
    description: [handler.description, `${ROLE_DESCRIPTIONS[role]}.`].join(" "),
    tags: [`${live.orb}: handlers`],
    security: securityFor(role, operation.security),
    parameters: names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    responses: { ...Object.fromEntries(refusals), default: { description: "The handler's response" } },
    "x-role": role,
    "x-scope": operation["x-scope"] ?? null,
    "x-handler": handler.name,
  };
}
