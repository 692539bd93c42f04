/** The long-lived server for streams. All readers share its one broker connection. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Requests, type RequestsOptions } from "./requests.ts";

export interface StreamsServerOptions extends RequestsOptions {
  host: string;
  port: number;
}

export interface StreamsServer {
  readonly port: number;
  /**
   * Ends all responses properly, then stops the server. After the time limit, closes the connections that are left.
   */
  drain(withinMs: number): Promise<void>;
}

export async function startStreamsServer(options: StreamsServerOptions): Promise<StreamsServer> {
  const requests = new Requests(options);
  const server: Server = createServer(
    { keepAliveTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 15_000 },
    (request, response) => requests.handle(request, response),
  );
  // Readers are limited separately. Allow more connections than readers, because some connections only get an error or
  // read stored messages.
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
