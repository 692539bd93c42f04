import type { Context, MiddlewareHandler } from "hono";
import { type Actor, accountBehind, actorId, throughOf, tokenIdOf } from "../../shared/access/actor.ts";
import type { Realm } from "../../shared/access/realms.ts";
import { parseAcceptLanguage } from "../../shared/definition/languages.ts";
import type { Config, ContentCache, Deps, KeptContent, Log, SentContent } from "../../shared/deps.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
import type { MakeImage } from "../../shared/images/job.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import type { Metric } from "../../shared/kernel/metrics.ts";
import { actingFor } from "../../shared/modules/acting.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import { countRequest, isDue } from "../../shared/usage/gather.ts";
import { storeUsage } from "../../shared/usage/stored.ts";
import { namesOf } from "./log.ts";

/** The request body, or the error that occurred while it was received. */
export type Received = { bytes: Uint8Array } | { error: unknown };

export interface AppEnv {
  Bindings: Record<string, unknown>;
  Variables: {
    deps: HandlerDeps;
    host: Host;
    /** Set by authentication middleware. */
    actor: Actor;
    /** Set by account routes. */
    realm: Realm;
    received: Received | undefined;
    /** Pattern of the matched route, for logs and metrics. */
    route: string;
    /** Code of the problem in the response, if it is one. */
    problem: string | undefined;
    parameters: readonly string[] | undefined;
    /** Headers that say that the application's stream has lost messages. Set by routes about an application. */
    lossHeaders: Readonly<Record<string, string>> | undefined;
    /** The response, if it already has all default headers. */
    whole: Response | undefined;
    /** Set if everyone may read the body. A host may repeat the response with this content while its data is unchanged. */
    keptContent: KeptContent | undefined;
    /** Set for a streaming response, which calls this function at its end to release the broker connection. */
    releaseStore: (() => void) | undefined;
  };
}

/** The functions and settings that differ between the edge runtime and long-lived processes. */
export interface Host {
  config: Config;
  log: (base: Record<string, unknown>) => Log;
  lend: (
    c: Context<AppEnv>,
  ) => Pick<Deps, "store" | "expires" | "readOnly"> & { release: () => Promise<void> };
  client: (c: Context<AppEnv>) => string;
  /** Reads a request body directly from the host, which is faster than the request's stream. */
  body?: (c: Context<AppEnv>, limit: number) => Promise<Uint8Array>;
  /**
   * Closes the connection if a response cannot be completed. Hosts without this function close the connection when
   * the body fails.
   */
  cut?: (c: Context<AppEnv>) => void;
  /**
   * Sends the content of a file as the body of the response that the request's handler returns. Hosts without this
   * function send a stream.
   */
  sendContent?: (c: Context<AppEnv>, content: SentContent) => void;
  /** Caches the content of public files. */
  content?: ContentCache;
  assets?: (name: string, ifNoneMatch: string | undefined) => Promise<Response>;
  /** Makes smaller copies of images. Missing if the deployment has no image worker. */
  images?: MakeImage | undefined;
  observe?: (request: { method: string; route: string; status: number; durationMs: number }) => void;
  metrics?: () => Metric[];
}

/** Keeps the broker connection open for a streaming response. Call the returned function when the stream ends. */
export function holdConnection(c: Context<AppEnv>): () => void {
  let release: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  c.set("releaseStore", release);
  c.var.deps.afterwards(ended);
  return release;
}

const CLOCK = { now: Date.now };
const newIdNow = () => newId(Date.now());

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
      clock: CLOCK,
      log,
      config: host.config,
      images: host.images,
      request: {
        requestId,
        traceparent,
        client: host.client(c),
        agent: c.req.header("user-agent"),
        languages: () => languagesOf(c),
      },
      newId: newIdNow,
      randomToken,
      builtIn: BUILT_IN,
      actingFor,
      afterwards: (work) => {
        pending.push(
          work.catch((error: unknown) =>
            log.error("background work after a response failed", { error: String(error) }),
          ),
        );
      },
    });
    const handled = Promise.withResolvers<void>();
    const finish = async () => {
      await handled.promise;
      for (let work = pending.shift(); work !== undefined; work = pending.shift()) await work;
      await release();
    };
    // A runtime may stop a request whose client disconnects, so register this work before the request begins. Otherwise
    // the connection would not be released. The response must not wait for this work.
    waitUntil(c, finish());
    try {
      await next();
    } finally {
      handled.resolve();
    }
    const actor = c.get("actor");
    recordFinished(host, log, {
      requestId,
      method: c.req.method,
      route: c.get("route") ?? "",
      status: c.res.status,
      problem: c.get("problem"),
      started,
      orb: c.req.param("orbId"),
      actor,
    });
    // This work is added before `finish` goes on, so the connection stays open for it.
    const { deps } = c.var;
    if (isDue(host.config, Date.now())) deps.afterwards(storeUsage(deps));
  };
}

function languagesOf(c: Context<AppEnv>): string[] {
  const locale = c.req.query("locale");
  const accepted = parseAcceptLanguage(c.req.header("accept-language") ?? "");
  return locale === undefined ? accepted : [locale, ...accepted];
}

export function logOf(host: Host, requestId: string, traceparent: string): Log {
  return host.log({ requestId, trace: traceparent.slice(3, 35) });
}

export function recordFinished(
  host: Host,
  log: Log,
  request: {
    requestId: string;
    method: string;
    route: string;
    status: number;
    /** Code of the problem in the response. */
    problem?: string | undefined;
    started: number;
    orb: string | undefined;
    actor: Actor | undefined;
  },
): void {
  const { requestId, method, route, status, problem, started, orb, actor } = request;
  const through = actor === undefined ? undefined : throughOf(actor);
  const anonymous = actor === undefined || accountBehind(actor).kind === "anonymous";
  const token = actor === undefined ? undefined : tokenIdOf(actor);
  const now = Date.now();
  const durationMs = now - started;
  host.observe?.({ method, route, status, durationMs });
  if (orb !== undefined)
    countRequest(host.config, { orb, now, status, method, route, code: problem, requestId });
  log.info("request", {
    method,
    route,
    status,
    durationMs,
    // JSON omits members that are undefined.
    orb,
    caller: anonymous ? undefined : actorId(actor),
    through,
    token,
  });
}

function waitUntil(c: Context<AppEnv>, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // In tests there is no execution context to keep the work alive. It continues anyway.
    work.catch(() => undefined);
  }
}
