// Extends zod, and must therefore come before every module that defines a schema.
import "@hono/zod-openapi";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { getPath } from "hono/utils/url";
import {
  accessHandler,
  isPlatformRoute,
  isRealmSegment,
  isSigninPage,
} from "../shared/definition/document/index.ts";
import { PublishedOrbs } from "../shared/discovery/published-orbs.ts";
import { auditRoutes } from "./admin/audit.ts";
import { definitionRoutes } from "./admin/definitions.ts";
import { deliveryRoutes } from "./admin/deliveries.ts";
import { orbRevisionRoutes, routeListing } from "./admin/orb-revisions.ts";
import { orbTransferRoutes } from "./admin/orb-transfer.ts";
import { orbRoutes } from "./admin/orbs.ts";
import { registryRoutes } from "./admin/registry.ts";
import { streamMappingRoutes } from "./admin/streams.ts";
import { usageRoutes } from "./admin/usage.ts";
import { adminBatchRoutes } from "./batch/routes.ts";
import { adminChangeRoutes, orbChanges } from "./changes/index.ts";
import { callerRoutes, nameRoutes } from "./discovery/caller.ts";
import { faultRoutes } from "./discovery/faults.ts";
import { healthRoutes } from "./discovery/health.ts";
import { metricsRoutes } from "./discovery/metrics.ts";
import { openApiRoutes } from "./discovery/openapi.ts";
import { overviewRoutes } from "./discovery/overview.ts";
import { adminEditingRoutes, orbEditing } from "./editing/index.ts";
import { adminFileRoutes } from "./files/library.ts";
import { tusHeaders } from "./files/resumable.ts";
import { requireNoDefinition, withoutDefinitionElsewhere } from "./http/definition-header.ts";
import { PREFIXES } from "./http/prefixes.ts";
import { onError } from "./http/problem.ts";
import { answerUnmatched, newRouter, noRoute } from "./http/router.ts";
import { innerHost } from "./mcp/inner.ts";
import { describeOrbMcp, mcpRoutes, orbMcp } from "./mcp/routes.ts";
import { readToEnd } from "./middleware/body.ts";
import { cors, securityHeaders } from "./middleware/headers.ts";
import { knownHost } from "./middleware/host-name.ts";
import { sharedAuthRoutes } from "./orb-auth/index.ts";
import { orbAuth } from "./orb-auth/orbs.ts";
import { consoleRoutes } from "./pages/console.ts";
import { docsRoutes } from "./pages/docs.ts";
import { pageRoutes } from "./pages/index.ts";
import { rootRoutes } from "./pages/root.ts";
import { platformAuthRoutes } from "./platform-auth/index.ts";
import { orbPreviews } from "./preview/routes.ts";
import { type AppEnv, context, type Host } from "./request/context.ts";
import { managedRoutes, runtimeRoutes } from "./runtime/entries.ts";
import { httpHandlers, MOUNTED } from "./runtime/handlers-http.ts";
import { streamsRoutes } from "./streams/routes.ts";
import { orbVerifyRoutes } from "./verify/routes.ts";
import { adminViewRoutes, orbViews } from "./views/routes.ts";

/** Returns whether the platform itself serves a path, not an orb (a hosted application). */
function isOwnPath(path: string): boolean {
  const [, api, family = "", rest] = path.split("/", 4);
  if (api !== "api" || family === "" || isPlatformRoute(family)) return true;
  return family === "docs" && rest === undefined;
}

export interface App {
  own: OpenAPIHono<AppEnv>;
  runtime: OpenAPIHono<AppEnv>;
  fetch: (
    request: Request,
    env: Record<string, unknown>,
    executionCtx?: ExecutionContextLike,
  ) => Response | Promise<Response>;
}

/** The members of a Workers execution context that the HTTP application needs. */
export interface ExecutionContextLike {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
  props: unknown;
}

/** Adds the routes of a router to the description of the API, because another router hands requests over to it. */
function describeIn(runtime: OpenAPIHono<AppEnv>, { router }: { router: OpenAPIHono<AppEnv> }): void {
  for (const definition of router.openAPIRegistry.definitions)
    if (definition.type === "route") runtime.openAPIRegistry.registerPath(definition.route);
}

/** The families of the management API that also exist for published applications. */
const MANAGED = [adminBatchRoutes, adminChangeRoutes, adminEditingRoutes, adminFileRoutes, adminViewRoutes];

/** The families of published applications, by their path segment. */
const families = () => ({
  changes: orbChanges(),
  editing: orbEditing(),
  views: orbViews(),
  _previews: orbPreviews(),
});

/** Creates the HTTP application without any I/O. */
export function createApp(hostOf: (env: Record<string, unknown>) => Host): App {
  const own = newRouter();
  const runtime = newRouter();
  for (const app of [own, runtime]) {
    app.use("/api/:orbId/files/uploads/*", tusHeaders);
    // Middleware that is registered first finishes last. So `readToEnd` discards an unread body after `context` has
    // released the broker connection.
    app.use("*", readToEnd, context(hostOf), securityHeaders, knownHost, cors);
    app.onError(onError);
  }
  own.use("/api/*", withoutDefinitionElsewhere);
  answerUnmatched(own);
  // The routes of `runtime` match every method, and reject unsupported methods themselves.
  runtime.notFound(noRoute);

  const published = new PublishedOrbs();
  own.route("/", rootRoutes());
  own.route("/", healthRoutes(published));
  own.route("/", openApiRoutes({ own, runtime, published }));
  own.route("/", overviewRoutes(published));
  for (const routes of [callerRoutes(), nameRoutes()]) own.route("/", routes);
  own.route("/", docsRoutes());
  own.route("/", consoleRoutes());
  for (const routesOf of [metricsRoutes, faultRoutes]) own.route("/", routesOf(published));
  own.route("/", platformAuthRoutes());
  own.route("/", sharedAuthRoutes());
  own.route("/", pageRoutes());
  own.route("/", auditRoutes());
  own.route("/", managedRoutes());
  for (const routesOf of MANAGED) own.route("/", routesOf());
  own.route("/", streamMappingRoutes());
  own.route("/", registryRoutes());
  own.route("/", definitionRoutes());
  for (const prefix of PREFIXES) {
    own.route("/", orbRoutes(prefix));
    own.route("/", orbRevisionRoutes(prefix));
    own.route("/", orbTransferRoutes(prefix));
    own.route("/", orbVerifyRoutes(prefix));
    for (const routes of [deliveryRoutes(prefix), usageRoutes(prefix)]) own.route("/", routes);
  }
  own.route("/", routeListing(published));
  own.route("/", streamsRoutes());
  let inner: App | undefined;
  const sendInner = (request: Request, env: Record<string, unknown>) => {
    inner ??= createApp(innerHost);
    return inner.fetch(request, env);
  };
  own.route("/", mcpRoutes(sendInner));

  const access = orbAuth();
  runtime.use("/api/:orbId/*", (c, next) => {
    const [, , orbId = "", segment = "", handler = ""] = c.req.path.split("/", 5);
    const called = segment === "call" && accessHandler(handler) !== undefined ? handler : undefined;
    if (called === undefined && !isRealmSegment(segment) && !isSigninPage(segment)) return next();
    requireNoDefinition(c);
    return access.answer(c, next, orbId, segment, called);
  });
  describeIn(runtime, access);
  for (const [segment, family] of Object.entries(families())) {
    runtime.use(`/api/:orbId/${segment}/*`, family.answer);
    describeIn(runtime, family);
  }
  runtime.use("/api/:orbId/mcp", orbMcp(sendInner));
  describeOrbMcp(runtime);
  if (MOUNTED.length > 0) runtime.use("/api/:orbId/*", httpHandlers(MOUNTED));
  // The paths of these routes match every URL of an application, so register them last.
  runtime.route("/", runtimeRoutes());

  return {
    own,
    runtime,
    fetch(request, env, executionCtx) {
      return (isOwnPath(getPath(request)) ? own : runtime).fetch(request, env, executionCtx);
    },
  };
}
