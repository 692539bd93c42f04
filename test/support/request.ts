/** Sends the requests of tests. With `fetch`, most of them would take the test process longer than the platform. */
import { Agent, type IncomingMessage, request } from "node:http";

/** A response whose body has arrived. */
export interface Received {
  status: number;
  headers: Headers;
  text: string;
}

/** The headers that `fetch` sends, except that bodies are not compressed: no test process has to decompress them. */
const USUAL = {
  accept: "*/*",
  "accept-encoding": "identity",
  "accept-language": "*",
  "sec-fetch-mode": "cors",
  "user-agent": "node",
};

/** Closes an idle connection a second before the runtime does. */
const agent = new Agent({ keepAlive: true, timeout: 4_000 });

/** The real function, although a test may replace the global one. */
const later = setImmediate;
/**
 * Lets the agent notice connections that the server has closed. After long work of a test, it could otherwise send a
 * request over one of them.
 */
const noticed = () => new Promise<void>((resolve) => later(() => later(resolve)));

async function received(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const headers = new Headers();
  const raw = response.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? "", raw[at + 1] ?? "");
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  return { status: response.statusCode ?? 0, headers, text };
}

/**
 * Sends one request, and does not follow a redirect.
 * @throws Error with the code of the socket's error
 */
export async function sendRequest(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Received> {
  await noticed();
  return new Promise((resolve, reject) => {
    const all: Record<string, string> = { ...USUAL };
    for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value;
    if (body !== undefined) all["content-length"] = String(Buffer.byteLength(body));
    const sent = request(url, { method, agent, headers: all });
    sent.once("response", (response) => received(response).then(resolve, reject));
    sent.once("error", reject);
    sent.end(body);
  });
}
