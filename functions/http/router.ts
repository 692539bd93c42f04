import { createRoute, OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { type Fault, invalid, invalidParameters } from "../../shared/kernel/errors.ts";
import { knownParameters } from "../../shared/kernel/faults.ts";
import { jsonBody } from "../middleware/body.ts";
import { receiveAuthenticated, receivePublic } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { faultsOf, noRouteDetail, problem, TITLES, wrongMethod } from "./problem.ts";
import { header, ProblemSchema } from "./schemas.ts";

/** Rewords a validation error so that it fits a query parameter or a header. */
function asParameter(fault: Fault, target: string, known: readonly string[]): Fault {
  if (fault.code === "required") {
    const message = target === "header" ? `is required (header ${fault.path.slice(1)})` : "is required";
    return { ...fault, message };
  }
  if (fault.code !== "unknown_property") return fault;
  return { ...fault, code: "unknown_parameter", message: knownParameters(known) };
}

export type Router = OpenAPIHono<AppEnv>;

/**
 * Creates a router that responds to validation errors: 422 for a body, 400 for parameters.
 * @param inBody rewords the errors of a body
 * @param getPath returns the path by which to route a request
 */
export function newRouter(inBody = (fault: Fault) => fault, getPath?: (request: Request) => string): Router {
  return new OpenAPIHono<AppEnv>({
    ...(getPath === undefined ? {} : { getPath }),
    defaultHook: (result, c) => {
      if (result.success) return;
      // The library puts the input into `result.data`, although the type of `result` lacks this property.
      const faults = faultsOf(result.error, Reflect.get(result, "data"));
      if (result.target === "json") throw invalid(faults.map(inBody));
      throw invalidParameters(
        faults.map((fault) => asParameter(fault, result.target, c.get("parameters") ?? [])),
      );
    },
  });
}

/** Parses the query parameters of a request that was routed without a router. */
export function parseQuery<T extends z.ZodObject>(
  schema: T,
  queries: Readonly<Record<string, readonly string[]>>,
): z.infer<T> {
  const given = Object.fromEntries(
    Object.entries(queries).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const known = Object.keys(schema.shape);
  throw invalidParameters(faultsOf(result.error, given).map((fault) => asParameter(fault, "query", known)));
}

export function noRoute(c: Context<AppEnv>): Response {
  return problem(c, 404, "route_not_found", noRouteDetail(c.req.path));
}

/** Responds with 405 if the URL supports other methods, and with 404 otherwise. */
export function answerUnmatched(app: Router): void {
  app.use("*", methodNotAllowed({ app, onMethodNotAllowed: wrongMethod }));
  app.notFound(noRoute);
}

export type ProblemStatus =
  | 400
  | 401
  | 403
  | 404
  | 409
  | 410
  | 412
  | 413
  | 415
  | 422
  | 429
  | 502
  | 503
  | 504
  | 507;

/** Headers of all responses to a request in the shape of an earlier revision. */
const PINNED = {
  "Orb-Definition": header("The revision that the request named, or that its token has"),
  Deprecation: header("Since when the current definition has another shape: `@` and Unix seconds"),
};

const namesDefinition = (headers: unknown) =>
  headers instanceof z.ZodObject && Object.hasOwn(headers.shape, "orb-definition");

const problemResponse = (status: ProblemStatus) => ({
  description: TITLES[status] ?? "Error",
  content: { "application/problem+json": { schema: ProblemSchema } },
});

function asList(middleware: RouteConfig["middleware"]): MiddlewareHandler[] {
  if (middleware === undefined) return [];
  return (Array.isArray(middleware) ? middleware : [middleware]) as MiddlewareHandler[];
}

function isOpen(security: RouteConfig["security"]): boolean {
  return (security ?? []).length === 0 || security?.some((way) => Object.keys(way).length === 0) === true;
}

const NO_PARAMETERS = z.strictObject({});

/**
 * Defines a route. Adds common errors and rejects undeclared query parameters. The JSON body is received before the
 * session is checked, because the session could end during a slow request.
 */
export function defineRoute<P extends string, R extends Omit<RouteConfig, "path"> & { path: P }>(
  config: R & { problems?: readonly ProblemStatus[] },
) {
  const { problems = [], ...route } = config;
  const responses: RouteConfig["responses"] = { ...route.responses };
  const body = route.request?.body;
  const json = body?.content?.["application/json"] !== undefined;
  const implied: ProblemStatus[] = json ? [400, 413, 415, 422] : [400];
  for (const status of new Set<ProblemStatus>([...problems, ...implied, 503, 504]))
    responses[status] ??= problemResponse(status);
  if (namesDefinition(route.request?.headers))
    for (const [status, response] of Object.entries(responses))
      if (!("$ref" in response))
        responses[status] = { ...response, headers: { ...PINNED, ...response.headers } };
  const request = { query: NO_PARAMETERS, ...route.request };
  const parameters = Object.keys(request.query instanceof z.ZodObject ? request.query.shape : {});
  const label: MiddlewareHandler<AppEnv> = async (c, next) => {
    c.set("route", route.path);
    c.set("parameters", parameters);
    await next();
  };
  const middleware = [
    label,
    ...(json ? [isOpen(route.security) ? receivePublic : receiveAuthenticated] : []),
    ...asList(route.middleware),
    ...(json ? [jsonBody(body?.required === true)] : []),
  ];
  return createRoute({ ...route, request, responses, middleware } as unknown as R);
}
