/**
 * Requests of tools to the platform's own API, within the process. So a tool has the rights of its caller's token, and
 * every rule of the API applies to it.
 */
import type { Context } from "hono";
import type { AppEnv, Host } from "../request/context.ts";

/** The member of the environment that holds the outer request. */
const OUTER = "outer";

type Fetch = (request: Request, env: Record<string, unknown>) => Response | Promise<Response>;

/** Returns a host that lends the connection of the outer request. */
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
      // Work after the inner response keeps the outer connection open.
      deps.afterwards(
        new Promise<void>((resolve) => {
          release = () => void resolve();
        }),
      );
      return { store: deps.store, release: async () => release() };
    },
  };
}

/** The headers that say who asks. Those of a browser belong to them, because some credentials are not for web pages. */
const CALLER = ["authorization", "origin", "sec-fetch-site"];

/**
 * Returns a function like `fetch` that sends requests to the inner application. They carry the bearer token of the
 * outer request, and no cookie: a web page must not be able to use tools with the session of its visitor.
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
