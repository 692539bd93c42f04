/** An answer that comes before its request was read still arrives, and the connection lives on. */
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

/** One connection that is kept. Its requests are answered one after the other. */
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

  /** @returns the status, or how the connection ended */
  async send(method: string, path: string, body = "", type = "application/json"): Promise<number | string> {
    this.#got = "";
    const head = [`${method} ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${body.length}`];
    this.#socket.write(`${head.join("\r\n")}\r\nContent-Type: ${type}\r\n\r\n${body}`);
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
  // What a long-lived host remembers counts until it notices, which takes a moment.
  await expect.poll(() => kept.send("GET", "/api/health"), { timeout: 10_000 }).toBe(503);
  for (const size of [10, 10_000, 400_000]) {
    expect(await kept.send("POST", "/api/nobody/things", json(size))).toBe(503);
    expect(await kept.send("DELETE", "/api/nobody/things/1", json(size))).toBe(503);
  }
  await platform.broker?.resume();
  await expect.poll(() => kept.send("GET", "/api/health"), { timeout: 10_000 }).toBe(200);
}

test("the functions in workerd", async () => {
  await using platform = await startPlatform();
  await refusals(platform);
});

test("the host in Node", async () => {
  await using platform = await startPlatform({ serve: serveProcess });
  await refusals(platform);
});
