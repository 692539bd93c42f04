/** The long-lived server of streams: one broker connection for all readers. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Requests, type RequestsOptions } from "./requests.ts";

export interface StreamsServerOptions extends RequestsOptions {
  host: string;
  port: number;
}

export interface StreamsServer {
  readonly port: number;
  /** Ends all responses properly, then the server. After the time limit, closes the remaining connections. */
  drain(withinMs: number): Promise<void>;
}

export async function startStreamsServer(options: StreamsServerOptions): Promise<StreamsServer> {
  const requests = new Requests(options);
  const server: Server = createServer(
    { keepAliveTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 15_000 },
    (request, response) => requests.handle(request, response),
  );
  // Allow more connections than readers: some get an error response, and others read only stored messages.
  server.maxConnections = options.hub.limits.total * 2 + 1000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    async drain(withinMs) {
      requests.refuse();
      const closed = new Promise((resolve) => server.close(resolve));
      requests.endStreams();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), withinMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
