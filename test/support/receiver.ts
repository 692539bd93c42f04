import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface Received {
  headers: IncomingMessage["headers"];
  body: string;
}

/** A local HTTPS server that receives webhooks. */
export interface Receiver extends AsyncDisposable {
  url: string;
  port: number;
  /** Received requests in order of arrival, each with its complete body. */
  received: Received[];
  /** Responds to a request. By default, responds with 204. */
  answer: (response: ServerResponse, received: Received) => void;
}

export async function startReceiver(files: { cert: string; key: string }): Promise<Receiver> {
  const server = createServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) });
  const receiver: Receiver = {
    url: "",
    port: 0,
    received: [],
    answer: (response) => response.writeHead(204).end(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on("request", (request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      const received = { headers: request.headers, body };
      receiver.received.push(received);
      receiver.answer(response, received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.port = (server.address() as AddressInfo).port;
  receiver.url = `https://127.0.0.1:${receiver.port}/hook`;
  return receiver;
}
