/**
 * A proxy between the Durable Streams conformance suite and the platform. The suite writes over HTTP without
 * authentication, and the platform's streams are read-only there. The proxy turns PUT into a mapping and POST into
 * publications to the broker, and forwards reads with a token.
 *
 * JSON streams pass unchanged. Messages of any other content type become JSON strings, one per append: text as it is,
 * bytes in base64. The proxy converts them back for the suite. The platform answers a read without parameters with
 * events, but the suite expects a page, so the proxy requests a page.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The platform under test. */
export interface ShimTarget {
  /** URL of the host whose streams are read. */
  base: string;
  /** Prefix of all stream names: parallel suites name theirs by the millisecond. */
  prefix: string;
  token: string;
  create: (name: string) => Promise<void>;
  /** Resolves after the broker has acknowledged all messages. */
  publish: (name: string, messages: string[]) => Promise<void>;
}

export interface Shim extends AsyncDisposable {
  readonly url: string;
}

const MAX_BODY = 700_000;
const SECURITY = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "cross-origin" };
const PER_HOP = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "host",
  "content-length",
  "content-encoding",
]);

const mediaType = (value: string | null | undefined) =>
  (value ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
const isJson = (type: string) => mediaType(type) === "application/json";
const isText = (type: string) => mediaType(type).startsWith("text/");

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function toMessages(type: string, body: Buffer): string[] {
  if (!isJson(type)) return [JSON.stringify(isText(type) ? body.toString("utf8") : body.toString("base64"))];
  const value: unknown = JSON.parse(body.toString("utf8"));
  return (Array.isArray(value) ? value : [value]).map((item) => JSON.stringify(item));
}

function fromMessages(type: string, json: string): Buffer {
  const items = JSON.parse(json) as string[];
  return Buffer.concat(items.map((item) => Buffer.from(item, isText(type) ? "utf8" : "base64")));
}

/** Decodes the data events of a tunnelled stream. Other events pass unchanged. */
async function* untunnel(type: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = /^event: data\ndata:(.*)$/m.exec(event)?.[1];
      if (data === undefined) yield `${event}\n\n`;
      else {
        const bytes = fromMessages(type, data);
        const text = isText(type) ? bytes.toString("utf8") : bytes.toString("base64");
        yield `event: data\n${text
          .split(/\r\n|\r|\n/)
          .map((line) => `data:${line}\n`)
          .join("")}\n`;
      }
    }
  }
}

/** Starts the shim on a free port. */
export async function startShim(target: ShimTarget): Promise<Shim> {
  const types = new Map<string, string>();
  const nameOf = (path: string) => `${target.prefix}-${path.toLowerCase().replace(/[^a-z0-9]/g, "")}`;
  const authorization = `Bearer ${target.token}`;
  const address = (path: string) => `${target.base}/api/streams/${nameOf(path)}`;

  async function tail(path: string): Promise<string> {
    const response = await fetch(address(path), { method: "HEAD", headers: { authorization } });
    return response.headers.get("stream-next-offset") ?? "";
  }

  function say(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
    response.writeHead(status, { ...SECURITY, ...headers }).end();
  }

  async function write(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const body = await bodyOf(request);
    const known = types.get(path);
    const type =
      request.headers["content-type"] ?? (request.method === "PUT" ? "application/octet-stream" : "");
    if (request.method === "POST" && known === undefined) return say(response, 404);
    if (request.method === "POST" && (body.length === 0 || type === "")) return say(response, 400);
    if (known !== undefined && mediaType(known) !== mediaType(type)) return say(response, 409);
    if (body.length > MAX_BODY) return say(response, 413);
    let messages: string[];
    try {
      messages = body.length === 0 ? [] : toMessages(type, body);
    } catch {
      return say(response, 400);
    }
    if (request.method === "PUT" && known === undefined) {
      await target.create(nameOf(path));
      types.set(path, type);
    } else if (messages.length === 0 && request.method === "POST") return say(response, 400);
    if (request.method === "POST" || known === undefined) await target.publish(nameOf(path), messages);
    const headers = { "stream-next-offset": await tail(path) };
    if (request.method === "POST") return say(response, 204, headers);
    const location = `http://${request.headers.host}${path}`;
    say(response, known === undefined ? 201 : 200, { ...headers, "content-type": known ?? type, location });
  }

  async function read(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    search: string,
    signal: AbortSignal,
  ): Promise<void> {
    const type = types.get(path) ?? "application/json";
    const headers = new Headers({ "accept-encoding": "identity" });
    if (request.method !== "OPTIONS") headers.set("authorization", authorization);
    for (const [name, value] of Object.entries(request.headers))
      if (!PER_HOP.has(name) && name !== "accept-encoding" && typeof value === "string")
        headers.set(name, value);
    const page = request.method === "GET" && !/[?&](offset|live)=/.test(search);
    const query = page ? `?offset=-1${search.replace("?", "&")}` : search;
    const { method = "GET" } = request;
    const answer = await fetch(address(path) + query, { method, headers, signal });
    const out: Record<string, string> = {};
    for (const [name, value] of answer.headers) if (!PER_HOP.has(name)) out[name] = value;
    const tunnelled = answer.status === 200 && !isJson(type);
    const answered = answer.headers.get("content-type") ?? "";
    if (tunnelled && isJson(answered)) out["content-type"] = type;
    if (tunnelled && answered === "text/event-stream" && !isText(type))
      out["stream-sse-data-encoding"] = "base64";
    response.writeHead(answer.status, out);
    response.flushHeaders();
    if (answer.body === null || method === "HEAD") response.end();
    else if (tunnelled && isJson(answered)) response.end(fromMessages(type, await answer.text()));
    else {
      const body = tunnelled ? untunnel(type, answer.body) : answer.body;
      for await (const part of body) response.write(part);
      response.end();
    }
  }

  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "/", "http://shim");
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const writes = request.method === "PUT" || request.method === "POST";
    const done = writes
      ? write(request, response, pathname)
      : read(request, response, pathname, search, gone.signal);
    done.catch((error: unknown) => {
      if (gone.signal.aborted) return;
      if (response.headersSent) response.destroy();
      else response.writeHead(502, SECURITY).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
