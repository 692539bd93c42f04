/** An HTTP server that stands before a platform, so that a test sees the requests and answers of another program. */
import { createServer, type IncomingMessage, request as open, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Relay extends AsyncDisposable {
  readonly origin: string;
}

interface Observer {
  /** Called with each request. Returns true if the test answers the request itself, or leaves it without an answer. */
  takes?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Called with each part of an answer, before the client gets it. */
  answers?(request: IncomingMessage, part: Buffer): void;
}

/** Starts the server on a free port. Use it with `await using`. */
export async function startRelay(origin: string, { takes, answers }: Observer): Promise<Relay> {
  const server = createServer((request, response) => {
    if (takes?.(request, response) === true) return;
    const { method, headers, url } = request;
    const passed = open(`${origin}${url}`, { method, headers });
    passed.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("data", (part: Buffer) => {
        answers?.(request, part);
        response.write(part);
      });
      answer.once("end", () => response.end());
      answer.once("error", () => response.destroy());
    });
    passed.once("error", () => response.destroy());
    request.pipe(passed);
    // The platform sees that the client has gone.
    response.once("close", () => passed.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
