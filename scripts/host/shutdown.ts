import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../process/failure.ts";

/** After the server stops accepting requests, the requests in progress have this many milliseconds to finish. */
const GRACE_MS = 3_000;

const MAX_DRAIN_SECONDS = 60;

export function drainMs(setting: string | undefined): number {
  const seconds = Number(setting ?? 0);
  if (!(seconds >= 0 && seconds <= MAX_DRAIN_SECONDS)) {
    throw new Failure(
      `HOST_DRAIN_SECONDS=${setting} is not valid. Use a number of seconds from 0 to ${MAX_DRAIN_SECONDS}.`,
    );
  }
  return seconds * 1000;
}

/**
 * Returns whether a URL is the health check that tells a proxy which hosts it can use. `?probe=live` is another
 * check: it reports success whenever the process answers at all.
 */
const isReadyProbe = (url = "") => /^\/api\/health(\?(?!.*probe=live)|$)/.test(url);

/**
 * Stops a server without failing any request.
 *
 * At first, the server reports to the proxy's health check that it is not ready. It still answers every request, but
 * closes the connection after each response, so that the proxy uses other hosts. Then it refuses new connections and
 * waits for the requests in progress.
 */
export class Shutdown {
  readonly #server: Server;
  readonly #drainMs: number;
  #stopping: Promise<void> | undefined;

  /**
   * @param drainMs milliseconds of the first phase. It must be longer than the proxy's interval of health checks and
   * the time for which the proxy keeps idle connections. 0 skips the first phase.
   */
  constructor(server: Server, drainMs: number) {
    this.#server = server;
    this.#drainMs = drainMs;
  }

  /**
   * Call this first for each request.
   * @returns whether the request must be refused with 503
   */
  refuses(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#stopping === undefined) return false;
    response.shouldKeepAlive = false;
    return isReadyProbe(request.url);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    if (this.#drainMs > 0) await delay(this.#drainMs);
    const closed = new Promise<void>((resolve) => server.once("close", resolve));
    // The HTTP server's own `close` would also close connections on which a request is about to arrive. So call the
    // `close` of the TCP server.
    NetServer.prototype.close.call(server);
    // Clients would keep their connections open. So close each one when its request is complete.
    const idle = setInterval(() => server.closeIdleConnections(), 20);
    const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(late);
  }
}
