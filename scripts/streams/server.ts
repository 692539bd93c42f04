/** The long-lived server for streams. All readers share its one broker connection. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { endStalled } from "../process/stalled.ts";
import { StreamsApp, type StreamsOptions } from "./app.ts";

export interface StreamsServerOptions extends StreamsOptions {
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
  const app = new StreamsApp(options);
  const listener = app.listener(options);
  const server: Server = createServer(
    { keepAliveTimeout: 10_000, headersTimeout: 10_000, requestTimeout: 15_000 },
    (request, response) => void listener(request, response),
  );
  // Readers are limited separately. Allow more connections than readers, because some connections only get an error or
  // read stored messages.
  server.maxConnections = options.hub.limits.total * 2 + 1000;
  endStalled(server, options.hub.times.stallMs);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    async drain(withinMs) {
      app.refuse();
      const closed = new Promise((resolve) => server.close(resolve));
      app.endStreams();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), withinMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
