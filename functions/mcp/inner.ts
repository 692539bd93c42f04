/**
 * Sends the requests of MCP tools to the platform's own API, within the same process. A tool therefore has exactly the
 * rights of the agent's token, and all rules of the API apply.
 */
import type { Context } from "hono";
import type { AppEnv, Host } from "../request/context.ts";

/** Property of the inner request's environment that holds the context of the outer request (the MCP request). */
const OUTER = "outer";

type Fetch = (request: Request, env: Record<string, unknown>) => Response | Promise<Response>;

/**
 * Returns the host (the functions and settings of the runtime) for a tool's API request, the inner request. The inner
 * request shares the broker connection of the MCP request, the outer request.
 */
export function innerHost(env: Record<string, unknown>): Host {
  const outer = env[OUTER] as Context<AppEnv>;
  const { deps, host } = outer.var;
  const { assets, metrics } = host;
  return {
    config: host.config,
    log: host.log,
    ...(assets === undefined ? {} : { assets }),
    ...(metrics === undefined ? {} : { metrics }),
    client: () => deps.request.client,
    lend() {
      let release = () => undefined as undefined;
      // The MCP request and the API request that it causes (the inner request) share one broker connection. Keep the
      // connection open until the inner request has released it.
      deps.afterwards(
        new Promise<void>((resolve) => {
          release = () => void resolve();
        }),
      );
      return { store: deps.store, release: async () => release() };
    },
  };
}

/**
 * Headers that identify the caller. They include two that browsers set, because the platform rejects some credentials
 * if a web page sends them.
 */
const CALLER = ["authorization", "origin", "sec-fetch-site"];

/**
 * Returns a replacement for `fetch` that sends requests to the platform's own application. The requests carry the
 * bearer token of the outer request, but no cookies. With cookies, a web page could use tools with its visitor's
 * session.
 */
export function innerFetch(c: Context<AppEnv>, send: Fetch): typeof fetch {
  const { requestId, traceparent } = c.var.deps.request;
  const caller = CALLER.flatMap((name) => {
    const value = c.req.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return async (input, init) => {
    const request = new Request(input as Request, init);
    request.headers.set("x-request-id", requestId);
    if (traceparent !== undefined) request.headers.set("traceparent", traceparent);
    request.headers.delete("cookie");
    for (const [name, value] of caller) request.headers.set(name, value);
    return send(request, { [OUTER]: c });
  };
}
