/** What each request carries, and the connection that it opens and gives back. */
import type { Context, MiddlewareHandler } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { Config, Deps, Log } from "../../shared/deps.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import type { Metric } from "./request-counts.ts";
import { namesOf } from "./trace.ts";

/** A request body that was received before authentication, or the error of receiving it. */
export type Received = { bytes: Uint8Array } | { error: unknown };

export interface AppEnv {
  Bindings: Record<string, unknown>;
  Variables: {
    deps: HandlerDeps;
    host: Host;
    /** Set by the authentication middleware of a route. */
    actor: Actor;
    /** The body, once it was waited for. */
    received: Received | undefined;
    /** The matched route's pattern, for logs and metrics. */
    route: string;
    /** Names of the query parameters that the matched route takes. */
    parameters: readonly string[] | undefined;
    /** The answer, where it has all its headers already. */
    whole: Response | undefined;
    /** An answer that streams gives the connection back itself: {@link keepStore}. */
    releaseStore: (() => void) | undefined;
  };
}

/** What differs between the hosts of the app: the edge, and long-lived processes. */
export interface Host {
  config: Config;
  log: (base: Record<string, unknown>) => Log;
  /** A store for one request, and how to give it back. */
  lend: (c: Context<AppEnv>) => Pick<Deps, "store" | "expires"> & { release: () => Promise<void> };
  /** The client's address, as far as the host vouches for it. */
  client: (c: Context<AppEnv>) => string;
  /**
   * Reads a whole body of fewer than `limit` bytes, where the host has a shorter way to it than the request's stream.
   * @throws AppError as `readLimited`
   */
  body?: (c: Context<AppEnv>, limit: number) => Promise<Uint8Array>;
  /** A file of the pages that is not part of the functions, by name; undefined where the host has none. */
  assets?: (name: string, ifNoneMatch: string | undefined) => Promise<Response>;
  /** Told of each finished request, for metrics. */
  observe?: (request: { method: string; route: string; status: number; durationMs: number }) => void;
  /** What was observed so far, where a process lives. */
  metrics?: () => Metric[];
}

/** Keeps the request's connection open after the answer was begun. Call the result when the stream has ended. */
export function keepStore(c: Context<AppEnv>): () => void {
  let release: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  c.set("releaseStore", release);
  c.var.deps.afterwards(ended);
  return release;
}

/** Around everything but the reading away of bodies: ids, dependencies, one log line, and the connection given back. */
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
          work.catch((error: unknown) => log.error("work after the answer failed", { error: String(error) })),
        );
      },
    });
    try {
      await next();
    } finally {
      // Closing must not delay the answer; what was promised for afterwards still has the connection.
      const finish = (async () => {
        for (let work = pending.shift(); work !== undefined; work = pending.shift()) await work;
        await release();
      })();
      waitUntil(c, finish);
    }
    const actor = c.get("actor");
    finished(host, log, {
      method: c.req.method,
      route: c.get("route") ?? "",
      status: c.res.status,
      started,
      orb: c.req.param("orbId"),
      caller: actor === undefined || actor.kind === "anonymous" ? undefined : actor.sub,
    });
  };
}

/** The log of one request. */
export function logOf(host: Host, requestId: string, traceparent: string): Log {
  return host.log({ requestId, trace: traceparent.slice(3, 35) });
}

/** Tells log and metrics of an answered request. */
export function finished(
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
    // A request without an execution context, as tests send them, just lets it run.
    work.catch(() => undefined);
  }
}
