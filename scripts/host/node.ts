/** Runs the platform in one Node process. The broker reports each change, so the process can cache data safely. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createApp } from "../../functions/app.ts";
import { readSettings } from "../../functions/env.ts";
import { problemText } from "../../functions/http/problem.ts";
import { SECURITY_HEADERS } from "../../functions/middleware/headers.ts";
import { isKnownHost, unknownHost } from "../../functions/middleware/host-name.ts";
import type { AppEnv, Host } from "../../functions/request/context.ts";
import { consoleLog } from "../../functions/request/log.ts";
import { CHUNK_BYTES } from "../../shared/files/object.ts";
import { type CachedStore, type CacheStats, openCachedStore } from "../../shared/store/cache/index.ts";
import { ReadSemaphore } from "../../shared/store/read-semaphore.ts";
import { programsIn } from "../bundle/layout.ts";
import { openImages } from "../images/pool.ts";
import { Failure, systemCode } from "../process/failure.ts";
import { clientAddress } from "../process/forwarded.ts";
import { processMetrics } from "../process/metrics.ts";
import { RequestCounts } from "../process/request-counts.ts";
import { endStalled, STALLED_MS } from "../process/stalled.ts";
import { openAssets } from "./assets.ts";
import { readBody } from "./body.ts";
import { ContentFile } from "./content/content-file.ts";
import { sendContent } from "./content/send.ts";
import type { Functions, FunctionsOptions } from "./functions.ts";
import { RecordedResponse } from "./response.ts";
import { ResponseCache } from "./response-cache.ts";
import { drainMs, Shutdown } from "./shutdown.ts";
import { openSocket } from "./socket.ts";

/**
 * Maximum bytes that all large reads in progress may request from the broker. The broker closes a connection when four
 * times as many bytes wait to be sent to it.
 */
const READING_BYTES = 16 * 1024 * 1024;

/** Default of the setting HOST_CACHE_MIB: MiB of memory for caches. */
const CACHE_MIB = 128;

/** Default of the setting HOST_CONTENT_MIB: MiB of the file that caches the content of uploaded files. */
const CONTENT_MIB = 256;

function bytesOf(name: string, setting: string | undefined, otherwise: number, least: number): number {
  const mib = setting === undefined ? otherwise : Number(setting);
  if (!(mib >= least && mib <= 4096))
    throw new Failure(`${name}=${setting} is not a size. Use a number of MiB from ${least} to 4096.`);
  return mib * 1024 * 1024;
}

export interface NodeFunctions extends Functions {
  stats(): CacheStats;
  answers(): ResponseCache["stats"];
}

const incomingOf = (env: Record<string, unknown>) => (env as unknown as HttpBindings).incoming;
const outgoingOf = (env: Record<string, unknown>) => env.outgoing as RecordedResponse;

/**
 * Matches host names in ASCII, the only form that browsers send. The ASCII form of an international name is longer, so
 * the server adapter would cut the URL at the wrong place.
 */
const HOST_NAME = /^[\w.:[\]-]*$/;

const pathOf = (url = "") => url.split("?", 1)[0] ?? "";

function refuse(response: ServerResponse, status: 400 | 403 | 503, code: string, detail: string): void {
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    connection: "close",
    ...(status === 503 ? { "retry-after": "1" } : {}),
  });
  response.end(problemText(status, code, detail));
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    if (systemCode(error) === "EADDRINUSE")
      throw new Failure(
        `Port ${port} is already in use. Stop the other program, or choose another port with PORT=….`,
      );
    throw error;
  }
}

/**
 * Gives the shared broker connection to each request. If the response may be cached, also records which data it
 * depends on.
 */
function lender(store: CachedStore, answers: ResponseCache): Host["lend"] {
  // All requests share this connection, so a request must not close it.
  const shared = { ...store, close: async () => undefined };
  const release = async () => undefined;
  return (c) => {
    const tracker = answers.begin(outgoingOf(c.env), c);
    if (tracker === undefined) return { store: shared, release };
    return { store: store.tracked(tracker), expires: (time) => tracker.expires(time), release };
  };
}

function appListener(host: Host): ReturnType<typeof getRequestListener> {
  const app = createApp(() => host);
  const context = {
    waitUntil: (work: Promise<unknown>) => void work.catch(() => undefined),
    passThroughOnException: () => undefined,
    props: {},
  };
  return getRequestListener(async (request, env) => {
    const response = await app.fetch(request, env as unknown as AppEnv["Bindings"], context);
    const outgoing = outgoingOf(env as unknown as Record<string, unknown>);
    const { content } = outgoing;
    if (content === undefined) return response;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    await sendContent(outgoing, content, STALLED_MS);
    return RESPONSE_ALREADY_SENT;
  });
}

/** Set `TRUST_PROXY=true` only if all requests come through your own proxy. */
export async function serveNode(options: FunctionsOptions): Promise<NodeFunctions> {
  const settings = readSettings(options.bindings);
  const behindProxy = options.bindings.TRUST_PROXY === "true";
  const { HOST_CACHE_MIB, HOST_CONTENT_MIB } = options.bindings;
  const memory = bytesOf("HOST_CACHE_MIB", HOST_CACHE_MIB, CACHE_MIB, 1);
  const contentBytes = bytesOf("HOST_CONTENT_MIB", HOST_CONTENT_MIB, CONTENT_MIB, 0);
  const log = consoleLog(settings.logLevel, {}, options.log);
  const store = openCachedStore(
    {
      ...settings.broker,
      name: "host",
      room: new ReadSemaphore(READING_BYTES),
      openSocket,
      onStatus: (status) => {
        if (status !== "connected") log.warn("broker connection", { status });
      },
    },
    // The other quarter of the cache memory is for complete responses.
    { maxBytes: memory * 0.75 },
  );
  const noFile = (error: unknown) => log.warn("a file of the cache cannot be used", { error: String(error) });
  const content = contentBytes === 0 ? undefined : new ContentFile(contentBytes, CHUNK_BYTES, noFile);
  const answers = new ResponseCache(() => host, memory * 0.25);
  const counts = new RequestCounts();
  const programs = programsIn(options.programs);
  const images = openImages(programs.imageThread, programs.images);
  const host: Host = {
    observe: (request) => counts.observe(request),
    metrics: () => [...counts.metrics(), ...processMetrics()],
    config: settings.config,
    log: (base) => consoleLog(settings.logLevel, base, options.log),
    lend: lender(store, answers),
    assets: openAssets(programs.assets),
    images: images.make,
    body: (c, limit) => readBody(incomingOf(c.env), limit),
    client: (c) => clientAddress(incomingOf(c.env), behindProxy),
    // Without this, the server adapter would print the error's stack if a body cannot be read. Close the connection
    // instead.
    cut: (c) => outgoingOf(c.env).destroy(),
    sendContent: (c, sent) => {
      outgoingOf(c.env).content = sent;
    },
    ...(content === undefined ? {} : { content }),
  };
  const listener = appListener(host);
  const server = createServer(
    // Limit the time for the headers, so that slow clients cannot block connections. Bodies have another limit,
    // because long uploads are allowed.
    {
      ServerResponse: RecordedResponse,
      requestTimeout: 0,
      headersTimeout: 20_000,
      keepAliveTimeout: 20_000,
    },
    (request, response) => {
      if (shutdown.refuses(request, response)) {
        refuse(response, 503, "stopping", "This host is shutting down. Other hosts go on serving.");
      } else if (!HOST_NAME.test(request.headers.host ?? "")) {
        refuse(
          response,
          400,
          "invalid_host",
          "The Host header must be an ASCII host name with an optional port.",
        );
      } else if (!isKnownHost(request.headers.host ?? "", settings.config, pathOf(request.url))) {
        // The cache of responses does not know the name, so check it before.
        refuse(response, 403, unknownHost().code, unknownHost().detail);
      } else answers.serve(request, response, () => void listener(request, response));
    },
  );
  endStalled(server);
  const shutdown = new Shutdown(server, drainMs(options.bindings.HOST_DRAIN_SECONDS));
  const letGo = async () => {
    await images.stop();
    await store.close();
    content?.close();
  };
  await listen(server, options.port, options.host).catch(async (error: unknown) => {
    await letGo().catch(() => undefined);
    throw error;
  });
  const { port } = server.address() as AddressInfo;

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= shutdown.stop().then(letGo);
    return stopping;
  };
  return {
    url: `http://localhost:${port}`,
    stats: () => store.stats(),
    answers: () => answers.stats,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
