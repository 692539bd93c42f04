/** Bodies of HTTP handlers that do not fit into one message, and exchanges that end early. */
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { HTTP_BODY_LIMIT, HTTP_PART_BYTES } from "../../shared/handlers/contract/http-limits.ts";
import type {
  HttpPartMessage,
  HttpReplyMessage,
  HttpRequestMessage,
} from "../../shared/handlers/contract/http-messages.ts";
import { type Service, serve } from "../../shared/handlers/contract/kit.ts";
import type { TestPlatform } from "../support/platform.ts";
import { raw } from "../support/raw.ts";
import { brokerClient, headers, registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;

const { register, orbWith } = registrar(() => ({ platform, client, admin }));
const MIB = 1024 * 1024;
const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const base64 = (text: string) => Buffer.from(text).toString("base64");
/** Bytes that are no text and do not repeat. */
const ALL = new Uint8Array(8 * MIB + 1);
for (let i = 0; i < ALL.length; i++) ALL[i] = (i * i + (i >> 8)) & 255;
const bytesOf = (size: number) => ALL.slice(0, size);
const fetched = (path: string, init: RequestInit = {}) => fetch(platform.origin + path, init);

/** A body that does not announce its length. */
const unannounced = (body: Uint8Array) =>
  ({ body: new Blob([Buffer.from(body)]).stream(), duplex: "half" }) as RequestInit;

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
});
afterAll(() => client.close());

describe("with the kit", () => {
  const connections: NatsConnection[] = [];
  const services: Service[] = [];
  let served = [0, 0];

  beforeAll(async () => {
    for (const instance of [0, 1]) {
      const connection = await brokerClient(platform);
      connections.push(connection);
      const respond = ({ body, query }: { body: Uint8Array; query: URLSearchParams }) => {
        served[instance] = (served[instance] ?? 0) + 1;
        const size = Number(query.get("size") ?? 0);
        const head = { "content-type": "application/x-test", etag: `"${hash(body)}"` };
        if (query.has("stream")) {
          async function* parts() {
            for (let from = 0; from < size; from += 300_000)
              yield bytesOf(Math.min(size, from + 300_000)).subarray(from);
          }
          return { headers: head, body: parts(), length: size };
        }
        return { headers: head, body: bytesOf(size) };
      };
      const handlers = {
        echo: { description: "", auth: "None", maxBodyBytes: 8 * MIB, respond },
      } as const;
      services.push(await serve({ connection, headers, service: "parts", handlers }));
    }
    await orbWith("parts", { parts: ["echo"] });
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all(connections.map((connection) => connection.close()));
  });

  test.each([0, 1, HTTP_PART_BYTES - 1, HTTP_PART_BYTES, HTTP_PART_BYTES + 1, 8 * MIB])(
    "passes a request's body of %i bytes",
    async (size) => {
      const body = bytesOf(size);
      const response = await fetched("/api/parts/echo", { method: "POST", body });
      expect([response.status, response.headers.get("etag")]).toEqual([200, `"${hash(body)}"`]);
      const patched = await fetched("/api/parts/echo", { method: "PATCH", ...unannounced(body) });
      expect([patched.status, patched.headers.get("etag")]).toEqual([200, `"${hash(body)}"`]);
    },
  );

  test.each(["", "&stream"])("passes a response's body of any size%s", async (more) => {
    for (const size of [0, 1, HTTP_PART_BYTES, HTTP_PART_BYTES + 1, 3 * MIB]) {
      const response = await fetched(`/api/parts/echo?size=${size}${more}`);
      expect(hash(new Uint8Array(await response.arrayBuffer()))).toBe(hash(bytesOf(size)));
    }
  });

  test("sends all parts of a request to the instance that got the first", async () => {
    served = [0, 0];
    const body = bytesOf(2 * HTTP_PART_BYTES + 1);
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const response = await fetched("/api/parts/echo?size=600000", { method: "PUT", body });
        expect(response.headers.get("etag")).toBe(`"${hash(body)}"`);
        expect((await response.arrayBuffer()).byteLength).toBe(600_000);
      }),
    );
    expect(served.reduce((sum, count) => sum + count)).toBe(12);
    expect(served.every((count) => count > 0)).toBe(true);
  });

  test("refuses a body that is larger than the handler takes with 413", async () => {
    served = [0, 0];
    const body = bytesOf(8 * MIB + 1);
    const path = "/api/parts/echo";
    // The platform refuses an announced length before the body arrives, and closes the connection. A client that is
    // still sending could miss the response, so this one sends no body.
    const announced = await raw(Number(new URL(platform.origin).port), {
      method: "PATCH",
      target: path,
      headers: [["Content-Length", String(body.length)]],
    });
    expect([announced.status, JSON.parse(announced.body).code]).toEqual([413, "body_too_large"]);
    const response = await fetched(path, { method: "PATCH", ...unannounced(body) });
    expect([response.status, (await response.json()).code]).toEqual([413, "body_too_large"]);
    expect(served).toEqual([0, 0]);
  });

  test("does not take other bodies than JSON of less than 512 KiB for other handlers", async () => {
    await register("parts.plain");
    await orbWith("plain", { parts: ["plain"] });
    const response = await fetched("/api/plain/plain", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify("x".repeat(HTTP_PART_BYTES)),
    });
    expect(response.status).toBe(413);
  });
});

describe("a service that breaks the exchange", () => {
  interface Exchange {
    first: HttpRequestMessage;
    parts: HttpPartMessage[];
  }
  const exchanges: Exchange[] = [];
  let number = 0;

  /** Registers a handler that replies `replies` one after the other. It is silent at undefined, and gone at null. */
  async function scripted(
    replies: (HttpReplyMessage | undefined | null)[],
    { method = "GET", body }: { method?: string; body?: Uint8Array<ArrayBuffer> } = {},
  ): Promise<{ exchange: Exchange; answered: Promise<Response> }> {
    const name = `h${++number}`;
    const subject = `svc.broken.${name}`;
    const exchange: Exchange = { first: {} as HttpRequestMessage, parts: [] };
    exchanges.push(exchange);
    let at = 0;
    const next = replies.indexOf(null) > 0 ? "nobody" : "here.1";
    const reply = (message: { respond(data: string): boolean }) => {
      const answer = replies[at++];
      if (answer !== undefined && answer !== null)
        message.respond(JSON.stringify(answer.next === undefined ? answer : { ...answer, next }));
    };
    client.subscribe(subject, {
      callback: (_, message) => {
        exchange.first = message.json();
        reply(message);
      },
    });
    client.subscribe(`${subject}.here.*`, {
      callback: (_, message) => {
        const part = message.json<HttpPartMessage>();
        exchange.parts.push(part);
        if (part.cancel !== true) reply(message);
        else message.respond("{}");
      },
    });
    // A busy machine must not make other services look silent.
    const timeoutMs = replies.includes(undefined) ? 1_000 : 30_000;
    await register(`broken.${name}`, { kind: "http", timeoutMs, maxBodyBytes: HTTP_BODY_LIMIT });
    await orbWith(`broken${number}`, { broken: [name] });
    const init = { method, ...(body === undefined ? {} : { body }) };
    return { exchange, answered: fetched(`/api/broken${number}/${name}`, init) };
  }

  const upload = { method: "PUT", body: bytesOf(2 * MIB) };
  const ok = { status: 200, body: base64("begun"), length: 1_000 };
  const go = { next: "" };
  const lengthOf = async (response: Response) => (await response.arrayBuffer()).byteLength;

  test.each([
    ["stops", [go, null], 502, "handler_failed"],
    ["falls silent", [go, undefined], 504, "handler_timeout"],
    ["replies no object", [go, [] as HttpReplyMessage], 502, "handler_answer_invalid"],
    ["takes no further part", [{}], 502, "handler_answer_invalid"],
    ["never gives a status", [go, go, go, go, go], 502, "handler_answer_invalid"],
  ])("and %s within a request's body gives an error", async (_, replies, status, code) => {
    const { answered } = await scripted(replies, upload);
    const response = await answered;
    expect([response.status, (await response.json()).code]).toEqual([status, code]);
  });

  test("can answer before the whole body has arrived", async () => {
    const { answered, exchange } = await scripted([{ status: 403, body: base64("no") }], upload);
    const response = await answered;
    expect([response.status, await response.text()]).toEqual([403, "no"]);
    expect(exchange.parts).toEqual([]);
  });

  test.each([
    ["stops", [{ ...ok, ...go }, null]],
    ["falls silent", [{ ...ok, ...go }, undefined]],
    ["sends an empty part", [{ ...ok, ...go }, go]],
    ["sends another status", [{ ...ok, ...go }, ok]],
    ["sends no base64", [{ ...ok, ...go }, { body: "%" }]],
    ["sends too little", [{ ...ok, ...go }, { body: base64("end") }]],
    [
      "sends too much",
      [
        { ...ok, ...go },
        { body: base64("x".repeat(996)), ...go },
      ],
    ],
  ])("and %s within its response ends the response early", async (_, replies) => {
    const printed = vi.spyOn(console, "error");
    const response = await (await scripted(replies)).answered;
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe("1000");
    await expect(lengthOf(response)).rejects.toThrow();
    // The log has a line. Nothing prints the stack of the error.
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  test.each([undefined, HTTP_BODY_LIMIT + 1, 4, 5.5])("and promises %s bytes gets 502", async (length) => {
    const reply = { status: 200, body: base64("begun"), ...go, ...(length === undefined ? {} : { length }) };
    const response = await (await scripted([reply])).answered;
    expect([response.status, (await response.json()).code]).toEqual([502, "handler_answer_invalid"]);
  });

  test("may send exactly the number of bytes that it announced, and the host requests no further part", async () => {
    const last = { body: base64("x".repeat(995)), ...go };
    const { answered, exchange } = await scripted([{ ...ok, ...go }, last]);
    expect(await lengthOf(await answered)).toBe(1_000);
    await expect.poll(() => exchange.parts.map(({ cancel }) => cancel)).toEqual([undefined, true]);
  });

  test("hears that the client has gone, or wants no body", async () => {
    const part = { body: Buffer.alloc(HTTP_PART_BYTES).toString("base64"), ...go };
    const long = { ...ok, length: HTTP_BODY_LIMIT, ...go };
    const leaving = await scripted([long, ...Array.from({ length: 60 }, () => part)]);
    const response = await leaving.answered;
    await response.body?.cancel();
    const cancelled = ({ parts }: Exchange) => parts.at(-1)?.cancel === true;
    await expect.poll(() => cancelled(leaving.exchange)).toBe(true);
    const { answered, exchange } = await scripted([{ ...ok, ...go }], { method: "HEAD" });
    expect((await answered).status).toBe(200);
    await expect.poll(() => cancelled(exchange)).toBe(true);
    expect(exchange.parts).toHaveLength(1);
  });

  test("hears that a request's body ended early", async () => {
    const { answered, exchange } = await scripted([go, go, go, go, go, go, go, go], {
      method: "PATCH",
      body: bytesOf(1),
    });
    await (await answered).arrayBuffer();
    const sent = exchange.parts.length;
    const abort = new AbortController();
    const stalled = fetched(`/api/broken${number}/h${number}`, {
      method: "PATCH",
      body: new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(HTTP_PART_BYTES + 1)),
      }),
      duplex: "half",
      signal: abort.signal,
    } as RequestInit).catch(() => undefined);
    await expect.poll(() => exchange.first.more).toBe(true);
    await wait(0);
    abort.abort();
    await stalled;
    await expect.poll(() => exchange.parts.slice(sent).at(-1)?.cancel).toBe(true);
  });
});
