/** A response that is sent before its request was read still arrives, and the connection stays usable. */
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

/** One keep-alive connection. Requests are sent one after the other. */
class Kept implements Disposable {
  readonly #socket: Socket;
  #got = "";
  #ended: string | undefined;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => {
      this.#got += text;
    });
    this.#socket.on("error", (error) => {
      this.#ended = error.message;
    });
    this.#socket.on("close", () => {
      this.#ended ??= "closed";
    });
  }

  /** The response so far. */
  get answer(): string {
    return this.#got;
  }

  /** Sends a request, or the first part of one with a body of `size` bytes. */
  begin(method: string, path: string, body: string, headers: string[], size = body.length): void {
    this.#got = "";
    const head = [`${method} ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${size}`, ...headers];
    this.#socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  }

  /** @returns the status, or the reason why the connection ended */
  async send(method: string, path: string, body = "", type = "application/json"): Promise<number | string> {
    return this.ask(method, path, body, [`Content-Type: ${type}`]);
  }

  /** @returns the status, or the reason why the connection ended */
  async ask(method: string, path: string, body: string, headers: string[]): Promise<number | string> {
    this.begin(method, path, body, headers);
    for (;;) {
      const end = this.#got.indexOf("\r\n\r\n");
      const length = /\r\ncontent-length: (\d+)/i.exec(this.#got)?.[1];
      const whole =
        length === undefined
          ? this.#got.endsWith("\r\n0\r\n\r\n")
          : this.#got.length >= end + 4 + Number(length);
      if (end >= 0 && whole) return Number(this.#got.split(" ")[1]);
      if (this.#ended !== undefined) return this.#ended;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

const json = (size: number) => JSON.stringify({ values: { title: "x".repeat(size) } });

async function refusals(platform: TestPlatform): Promise<void> {
  using kept = new Kept(Number(new URL(platform.origin).port));
  for (const size of [10, 10_000, 400_000]) {
    expect(await kept.send("POST", "/api/nobody/things", json(size))).toBe(404);
    expect(await kept.send("POST", "/api/admin/orbs", json(size))).toBe(401);
    expect(await kept.send("PUT", "/api/health", json(size))).toBe(405);
    expect(await kept.send("POST", "/api/_auth/passkey/begin", json(size), "text/xml")).toBe(415);
  }
  expect(await kept.send("POST", "/api/_auth/passkey/begin", json(3_000_000))).toBe(413);
  await platform.broker?.pause();
  // A long-lived host notices the loss of its broker after a moment.
  await expect.poll(() => kept.send("GET", "/api/health")).toBe(503);
  for (const size of [10, 10_000, 400_000]) {
    expect(await kept.send("POST", "/api/nobody/things", json(size))).toBe(503);
    expect(await kept.send("DELETE", "/api/nobody/things/1", json(size))).toBe(503);
  }
  await platform.broker?.resume();
  await expect.poll(() => kept.send("GET", "/api/health")).toBe(200);
}

/** Uploads that are refused at one of their first lines, and one whose client disconnects. */
async function uploads(platform: TestPlatform): Promise<void> {
  const token = await adminToken(platform);
  const schemas = [{ id: "item", fields: [{ name: "title", type: "string" }] }];
  const body = { id: "shop", modules: [{ id: "news", type: "CONTENT", schemas }] };
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body })).status).toBe(201);
  const authorization = `Bearer ${token}`;
  const exported = await fetch(`${platform.origin}/api/admin/orbs/shop/export`, {
    headers: { authorization },
  });
  const [orb = ""] = (await exported.text()).split("\n");
  const entry = JSON.stringify({ module: "news", values: { title: "a" } });

  const port = Number(new URL(platform.origin).port);
  const headers = [`Authorization: ${authorization}`, "Content-Type: application/x-ndjson"];
  using kept = new Kept(port);
  for (const size of [10, 100_000, 4_000_000]) {
    const rest = "x".repeat(size);
    expect(await kept.ask("POST", "/api/admin/orbs/import", `{}\n${rest}`, headers)).toBe(422);
    expect(await kept.ask("POST", "/api/admin/orbs/import", `${orb}\n${rest}`, headers)).toBe(409);
    expect(await kept.ask("POST", "/api/admin/orbs/shop/entries/bulk", `${entry}\n${rest}`, headers)).toBe(
      200,
    );
    expect(kept.answer).toMatch(/"line":1,"status":201.*"done":(true|false).*"created":1/s);
  }

  const begun = new Kept(port);
  begun.begin("POST", "/api/admin/orbs/import", `${orb.replaceAll("shop", "lost")}\n{`, headers, 100_000);
  const store = platform.operatorStore();
  await expect.poll(() => store.get("platform", "platform.orbs.lost")).not.toBeNull();
  begun[Symbol.dispose]();
  const told = (what: string) => platform.logs.filter((line) => line.includes(what));
  await expect.poll(() => told("/api/admin/orbs/import").at(-1)).toContain('"status":400');
  // A disconnect of the client is not logged as an error.
  expect(told("unexpected error")).toEqual([]);
}

test("workerd answers refused requests and uploads on a connection that stays usable", async () => {
  await using platform = await startPlatform();
  await uploads(platform);
  await refusals(platform);
});

test("the Node host answers refused requests and uploads on a connection that stays usable", async () => {
  await using platform = await startPlatform({ serve: serveProcess });
  await uploads(platform);
  await refusals(platform);
});
