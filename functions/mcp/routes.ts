/**
 * The Model Context Protocol routes for agents (Streamable HTTP without sessions): one route for all applications, and
 * one for each application.
 */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { PLATFORM_REALM, realmOf } from "../../shared/access/authorize.ts";
import { claimedRealm } from "../../shared/access/tokens.ts";
import { createTransport } from "../../shared/client/transport.ts";
import { liveOrb } from "../../shared/definition/stored/index.ts";
import { parseExtras } from "../../shared/entry/query/index.ts";
import { invalid } from "../../shared/kernel/errors.ts";
import { hidesMcp } from "../../shared/orb/routes.ts";
import type { OrbView } from "../discovery/overview-schemas.ts";
import { requireNoDefinition } from "../http/definition-header.ts";
import { faultsOf, wrongMethod } from "../http/problem.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { json, jsonRequest, ProblemSchema } from "../http/schemas.ts";
import { readJson } from "../middleware/body.ts";
import { refuseForeignOrigin } from "../middleware/origin.ts";
import { bearerOf, identify, receiveEarly } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { innerFetch } from "./inner.ts";
import { toolServer } from "./tools.ts";

export type InnerSend = (request: Request, env: Record<string, unknown>) => Response | Promise<Response>;

const message = z
  .strictObject({
    jsonrpc: z.literal("2.0"),
    method: z.string(),
    id: z.union([z.string(), z.int()]).optional().openapi({ description: "Missing for a notification" }),
    params: z.looseObject({}).optional(),
  })
  .openapi("JsonRpcRequest");

async function messageOf(c: Context<AppEnv>): Promise<z.infer<typeof message>> {
  const body = await readJson(c, true);
  const { data, error } = message.safeParse(body);
  if (error !== undefined) throw invalid(faultsOf(error, body));
  return data;
}

/**
 * Rejects messages of web pages whose origin is not allowed, as the protocol requires. Programs send no `Origin`. `*` in
 * ALLOWED_ORIGINS allows every page, because tools ignore cookies.
 */
function requireMcpOrigin(c: Context<AppEnv>): void {
  if (!c.var.deps.config.allowedOrigins.includes("*")) refuseForeignOrigin(c);
}

async function answer(c: Context<AppEnv>, send: InnerSend, orb: string | undefined): Promise<Response> {
  if (c.req.method !== "POST") return wrongMethod(c, ["POST"]);
  requireMcpOrigin(c);
  c.var.deps.expires?.(0);
  const { origin } = new URL(c.req.url);
  const transport = createTransport({ url: origin, fetch: innerFetch(c, send), retries: 0 });
  let view: OrbView | undefined;
  if (orb !== undefined) {
    const query = new URLSearchParams({ orb });
    const response = await transport.send({ method: "GET", path: "/api/discovery", query, repeat: "safe" });
    [view] = ((await response.json()) as { orbs: OrbView[] }).orbs;
  }
  const server = toolServer({ transport, orb: view });
  const { status, body } = await server.respond(await messageOf(c), c.req.raw.headers, (error) =>
    c.var.deps.log.warn("an agent's request failed", { error: String(error) }),
  );
  return body === undefined
    ? c.body(null, 202)
    : c.json(body, status as 200, { "cache-control": "no-store" });
}

/**
 * Checks the token before the message is parsed, so that a client with an invalid token gets a 401 even if its message
 * is invalid too. The API checks the token and its permissions again for each request that a tool sends to it.
 */
async function requireValidToken(c: Context<AppEnv>, realms: readonly string[]): Promise<void> {
  if (c.req.header("authorization") === undefined) return;
  await identify(c, { platform: true, realms }, "leader");
}

/**
 * Returns the realm (set of accounts) that the client's token names. The route for all applications accepts tokens of
 * every realm.
 */
function realmsOf(c: Context<AppEnv>): string[] {
  const realm = claimedRealm(bearerOf(c.req.header("authorization")) ?? "");
  return realm === null || realm === PLATFORM_REALM ? [] : [realm];
}

const checkToken: MiddlewareHandler<AppEnv> = async (c, next) => {
  await requireValidToken(c, realmsOf(c));
  await next();
};

const reply = z.looseObject({ jsonrpc: z.literal("2.0") }).openapi("JsonRpcResponse");

const described = {
  method: "post" as const,
  description:
    "Model Context Protocol, Streamable HTTP without sessions. Send an API token or a session token as bearer; cookies are ignored. Without a token, tools have the rights of anonymous callers.",
  tags: ["agents"],
  security: [{ bearer: [] }, {}],
  "x-role": "public",
  "x-scope": [],
};

const responses = {
  200: json("The response of the protocol", reply),
  202: { description: "Accepted" },
  400: {
    description: "Bad request",
    content: {
      "application/json": { schema: reply },
      "application/problem+json": { schema: ProblemSchema },
    },
  },
};

/** Creates the route that gives agents access to all applications. */
export function mcpRoutes(send: InnerSend) {
  const route = defineRoute({
    ...described,
    tags: ["Agents"],
    path: "/api/mcp",
    operationId: "mcp",
    summary: "Tools for agents",
    middleware: [checkToken],
    request: { body: jsonRequest(message) },
    responses,
    problems: [401, 403],
  });
  return newRouter().openapi(route, (c) => answer(c, send, undefined) as Promise<never>);
}

/** Adds the route `/api/{orbId}/mcp` to the OpenAPI document. */
export function describeOrbMcp(router: Router): void {
  const route = defineRoute({
    ...described,
    path: "/api/{orbId}/mcp",
    operationId: "orbMcp",
    summary: "Tools for agents",
    request: { params: z.object({ orbId: z.string() }), body: jsonRequest(message) },
    responses,
    problems: [401, 403, 404],
  });
  router.openAPIRegistry.registerPath(route);
}

/**
 * Handles the route `/api/{orbId}/mcp`. An older application may have a module or handler named `mcp`, because that
 * name was not always reserved. The path then leads to the module or handler.
 */
export function orbMcp(send: InnerSend): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const orb = c.req.param("orbId") ?? "";
    await receiveEarly(c);
    const live = await liveOrb(c.var.deps, orb);
    if (live === null || hidesMcp(live.compiled)) return next();
    requireNoDefinition(c);
    c.set("route", "/api/{orbId}/mcp");
    await requireValidToken(c, [realmOf(orb, live.compiled.usesAccess)]);
    parseExtras(new URL(c.req.url).searchParams);
    return answer(c, send, orb);
  };
}
