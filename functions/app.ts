/** The application: the families of routes, and how every request is treated before and after them. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { getPath } from "hono/utils/url";
import { isPlatformRoute } from "../shared/definition/document/ids.ts";
import { auditRoutes } from "./admin/audit.ts";
import { definitionRoutes } from "./admin/definitions.ts";
import { adminEntryRoutes } from "./admin/entry-routes.ts";
import { orbRevisionRoutes, routeListing } from "./admin/orb-revisions.ts";
import { orbTransferRoutes } from "./admin/orb-transfer.ts";
import { orbRoutes } from "./admin/orbs.ts";
import { registryRoutes } from "./admin/registry.ts";
import { streamMappingRoutes } from "./admin/streams.ts";
import { faultRoutes } from "./discovery/faults.ts";
import { healthRoutes } from "./discovery/health.ts";
import { metricsRoutes } from "./discovery/metrics.ts";
import { openApiRoutes } from "./discovery/openapi.ts";
import { overviewRoutes } from "./discovery/overview.ts";
import { PREFIXES } from "./http/prefixes.ts";
import { nothingAt, onError, problem } from "./http/problem.ts";
import { newRouter } from "./http/router.ts";
import { readToEnd } from "./middleware/body.ts";
import { cors } from "./middleware/cors.ts";
import { securityHeaders } from "./middleware/headers.ts";
import { sharedAuthRoutes } from "./orb-auth/index.ts";
import { orbAuth } from "./orb-auth/orbs.ts";
import { docsRoutes } from "./pages/docs.ts";
import { pageRoutes } from "./pages/index.ts";
import { platformAuthRoutes } from "./platform-auth/index.ts";
import { type AppEnv, context, type Host } from "./request/context.ts";
import { runtimeRoutes } from "./runtime/entries.ts";
import { httpHandlers } from "./runtime/handlers-http.ts";
import { streamsRoutes } from "./streams/routes.ts";

/** Whether a path is the platform's own: what no orb can have for an id names none. */
function isOwnPath(path: string): boolean {
  const [, api, family = "", rest] = path.split("/", 4);
  if (api !== "api" || family === "" || isPlatformRoute(family)) return true;
  return family === "docs" && rest === undefined;
}

/** The patterns of a router by their number of segments, each once, with the methods it takes. */
function patternsOf(app: OpenAPIHono<AppEnv>): Map<number, { parts: string[]; methods: Set<string> }[]> {
  const methods = Map.groupBy(
    app.routes.filter(({ method }) => method !== "ALL"),
    ({ path }) => path,
  );
  const patterns = [...methods].map(([path, routes]) => ({
    parts: path.split("/"),
    methods: new Set(routes.map(({ method }) => method)),
  }));
  return Map.groupBy(patterns, ({ parts }) => parts.length);
}

/** For addresses that no route takes: 405 with `Allow` where another method is taken, otherwise 404. */
function notFoundOrWrongMethod(app: OpenAPIHono<AppEnv>) {
  let patterns: ReturnType<typeof patternsOf> | undefined;
  return (c: Context<AppEnv>) => {
    patterns ??= patternsOf(app);
    const have = c.req.path.split("/");
    const allowed = new Set<string>();
    for (const { parts, methods } of patterns.get(have.length) ?? []) {
      if (parts.every((part, i) => part.startsWith(":") || part === have[i]))
        for (const method of methods) allowed.add(method);
    }
    if (allowed.has("GET")) allowed.add("HEAD");
    if (allowed.size === 0 || allowed.has(c.req.method)) {
      return problem(c, 404, "route_not_found", nothingAt(c.req.path));
    }
    const allow = [...allowed].sort().join(", ");
    return problem(c, 405, "method_not_allowed", `This address takes ${allow}.`, { headers: { allow } });
  };
}

/** Both halves of the API as routers, for hosts and for the OpenAPI description. */
export interface App {
  /** The platform's own families. */
  own: OpenAPIHono<AppEnv>;
  /** Routes of published orbs. */
  runtime: OpenAPIHono<AppEnv>;
  fetch: (
    request: Request,
    env: Record<string, unknown>,
    executionCtx?: ExecutionContextLike,
  ) => Response | Promise<Response>;
}

/** The part of a Workers execution context that is used. */
export interface ExecutionContextLike {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
  props: unknown;
}

/** Builds the application for a host; cheap, and without any I/O. */
export function createApp(hostOf: (env: Record<string, unknown>) => Host): App {
  const own = newRouter();
  const runtime = newRouter();
  for (const app of [own, runtime]) {
    // What is left of a body is read away once the connection to the broker is given back.
    app.use("*", readToEnd, context(hostOf), securityHeaders, cors);
    app.onError(onError);
    app.notFound(notFoundOrWrongMethod(app));
  }

  own.route("/", healthRoutes());
  own.route("/", openApiRoutes({ own, runtime }));
  own.route("/", overviewRoutes());
  own.route("/", docsRoutes());
  own.route("/", metricsRoutes());
  own.route("/", faultRoutes());
  own.route("/", platformAuthRoutes());
  own.route("/", sharedAuthRoutes());
  own.route("/", pageRoutes());
  own.route("/", auditRoutes());
  own.route("/", adminEntryRoutes());
  own.route("/", streamMappingRoutes());
  own.route("/", registryRoutes());
  own.route("/", definitionRoutes());
  for (const prefix of PREFIXES) {
    own.route("/", orbRoutes(prefix));
    own.route("/", orbRevisionRoutes(prefix));
    own.route("/", orbTransferRoutes(prefix));
  }
  own.route("/", routeListing());
  own.route("/", streamsRoutes());

  const access = orbAuth(notFoundOrWrongMethod);
  runtime.use("/api/:orbId/*", access.middleware);
  for (const definition of access.router.openAPIRegistry.definitions) {
    if (definition.type === "route") runtime.openAPIRegistry.registerPath(definition.route);
  }
  runtime.use("/api/:orbId/*", httpHandlers());
  // Its generic paths match everything below an orb: the last of all.
  runtime.route("/", runtimeRoutes());

  return {
    own,
    runtime,
    fetch(request, env, executionCtx) {
      return (isOwnPath(getPath(request)) ? own : runtime).fetch(request, env, executionCtx);
    },
  };
}
