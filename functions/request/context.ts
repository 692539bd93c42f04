/** Context of each request: ids, dependencies, log, and the store, which is released at the end. */
import type { Context, MiddlewareHandler } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { Realm } from "../../shared/access/realms.ts";
import type { Config, Deps, Log } from "../../shared/deps.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import type { Metric } from "../../shared/kernel/metrics.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import { namesOf } from "./log.ts";

/** A request body that was received before authentication, or the error of receiving it. */
export type Received = { bytes: Uint8Array } | { error: unknown };

export interface AppEnv {
  Bindings: Record<string, unknown>;
  Variables: {
    deps: HandlerDeps;
    host: Host;
    /** Set by the authentication middleware of a route. */
    actor: Actor;
    /** Set by the routes of a realm. */
    realm: Realm;
    /** The body, once it was received. */
    received: Received | undefined;
    /** The matched route's pattern, for logs and metrics. */
    route: string;
    /** Names of the query parameters that the matched route accepts. */
    parameters: readonly string[] | undefined;
    /** The response, if it already has all headers. */
    whole: Response | undefined;
    /** Set by a streaming response, which releases the connection itself: {@link holdConnection}. */
    releaseStore: (() => void) | undefined;
  };
}

/** Differences between hosts of the app: the edge, and long-lived processes. */
export interface Host {
  config: Config;
  log: (base: Record<string, unknown>) => Log;
  /** Returns a store for one request, and how to release it. */
  lend: (c: Context<AppEnv>) => Pick<Deps, "store" | "expires"> & { release: () => Promise<void> };
  /** Returns the client's address, as reliably as the host knows it. */
  client: (c: Context<AppEnv>) => string;
  /**
   * Reads a whole body of fewer than `limit` bytes, if the host has a faster way than the request's stream.
   * @throws AppError as `readLimited`
   */
  body?: (c: Context<AppEnv>, limit: number) => Promise<Uint8Array>;
  /** Returns a page's file that is not part of the functions; undefined if the host has none. */
  assets?: (name: string, ifNoneMatch: string | undefined) => Promise<Response>;
  /** Called for each finished request, for metrics. */
  observe?: (request: { method: string; route: string; status: number; durationMs: number }) => void;
  /** Returns the collected metrics of a long-lived process. */
  metrics?: () => Metric[];
}

/** Keeps the request's store open while a response streams. @returns a function to call when the stream has ended */
export function holdConnection(c: Context<AppEnv>): () => void {
  let release: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  c.set("releaseStore", release);
  c.var.deps.afterwards(ended);
  return release;
}

/**
 * Middleware around everything but discarding bodies: creates ids and dependencies, writes one log line, and releases
 * the store.
 */
export function context(hostOf: (env: Record<string, unknown>) => Host): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const started = Date.now();
    const host = hostOf(c.env);
    const { requestId, traceparent } = namesOf(c.req.header("x-request-id"), c.req.header("traceparent"));
    const { release, ...lent } = host.lend(c);
    const pending: Promise<unknown>[] = [];
    const log = logOf(host, requestId, traceparent);
    c.set("host", host);
    c.set("deps", {
      ...lent,
      clock: { now: Date.now },
      log,
      config: host.config,
      request: { requestId, traceparent, client: host.client(c) },
      newId: () => newId(Date.now()),
      randomToken,
      builtIn: BUILT_IN,
      afterwards: (work) => {
        pending.push(
          work.catch((error: unknown) =>
            log.error("background work after a response failed", { error: String(error) }),
          ),
        );
      },
    });
    try {
      await next();
    } finally {
      // Release in the background, so that it does not delay the response. Deferred work still has the connection.
      const finish = (async () => {
        for (let work = pending.shift(); work !== undefined; work = pending.shift()) await work;
        await release();
      })();
      waitUntil(c, finish);
    }
    const actor = c.get("actor");
    recordFinished(host, log, {
      method: c.req.method,
      route: c.get("route") ?? "",
      status: c.res.status,
      started,
      orb: c.req.param("orbId"),
      caller: actor === undefined || actor.kind === "anonymous" ? undefined : actor.sub,
    });
  };
}

/** Returns the log of one request. */
export function logOf(host: Host, requestId: string, traceparent: string): Log {
  return host.log({ requestId, trace: traceparent.slice(3, 35) });
}

/** Reports a finished request to log and metrics. */
export function recordFinished(
  host: Host,
  log: Log,
  request: {
    method: string;
    route: string;
    status: number;
    /** Milliseconds since 1970. */
    started: number;
    orb: string | undefined;
    caller: string | undefined;
  },
): void {
  const { method, route, status, started, orb, caller } = request;
  const durationMs = Date.now() - started;
  host.observe?.({ method, route, status, durationMs });
  log.info("request", {
    method,
    route,
    status,
    durationMs,
    ...(orb === undefined ? {} : { orb }),
    ...(caller === undefined ? {} : { caller }),
  });
}

function waitUntil(c: Context<AppEnv>, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // Tests send requests without an execution context; then the work runs by itself.
    work.catch(() => undefined);
  }
}
