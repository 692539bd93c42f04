/** Raw HTTP over a socket, for requests that no well-behaved client sends. */
import { connect } from "node:net";

/** The response. */
export interface RawAnswer {
  /** HTTP status; 0 if the connection was closed without a response. */
  status: number;
  /** Headers, with names in lower case. Of a repeated header, only the last value. */
  headers: Map<string, string>;
  body: string;
}

/** A request without any escaping or checks. */
export interface RawRequest {
  method: string;
  /** The request target, sent as UTF-8. */
  target: string;
  headers?: readonly (readonly [string, string])[];
  body?: string | Uint8Array;
}

const LIMIT_MS = 20_000;

/** Whether a response is complete. Servers may keep a connection open despite `Connection: close`. */
export function isWhole(got: string, method: string): boolean {
  const end = got.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const head = got.slice(0, end).toLowerCase();
  if (head.includes("\r\ncontent-type: text/event-stream")) return true;
  if (method === "HEAD" || /^http\/1\.1 (204|304)/.test(head)) return true;
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) return got.length - end - 4 >= Number(length);
  return head.includes("\r\ntransfer-encoding: chunked") && got.endsWith("\r\n0\r\n\r\n");
}

/** Sends one request and waits for the whole response, or for the head of an event stream. */
export function raw(port: number, { method, target, headers = [], body }: RawRequest): Promise<RawAnswer> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const head = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(bytes === undefined ? [] : [`Content-Length: ${bytes.length}`]),
  ].join("\r\n");
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let got = "";
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${LIMIT_MS} ms: ${head.slice(0, 500)}`));
    }, LIMIT_MS);
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      const end = got.indexOf("\r\n\r\n");
      const lines = (end < 0 ? "" : got.slice(0, end)).split("\r\n");
      const found = new Map<string, string>();
      for (const line of lines.slice(1)) {
        const colon = line.indexOf(":");
        found.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      }
      resolve({
        status: Number(lines[0]?.split(" ")[1] ?? 0),
        headers: found,
        body: end < 0 ? "" : Buffer.from(got.slice(end + 4), "latin1").toString(),
      });
    };
    // One character per byte, so that lengths match Content-Length.
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      got += text;
      if (isWhole(got, method)) done();
    });
    socket.once("close", done);
    socket.once("error", () => undefined);
    socket.write(`${head}\r\n\r\n`);
    if (bytes !== undefined) socket.write(bytes);
  });
}
