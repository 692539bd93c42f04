/** Uploads are read line by line: they may be slow, but not stall. */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

const LINE = `${JSON.stringify({ module: "notes", values: { text: "x" } })}\n`;

interface Upload {
  path: string;
  token: string;
  /** Parts of the body, sent one every five seconds. */
  parts: string[];
  /** Whether the body never ends. */
  stalls?: boolean;
}

/**
 * Sends a body in parts.
 * @returns the lines of the response body after the response is complete or the connection closed
 */
async function upload(platform: TestPlatform, { path, token, parts, stalls }: Upload): Promise<unknown[]> {
  const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
  socket.setEncoding("latin1");
  let got = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (text: string) => {
      got += text;
      if (/\r\n0\r\n\r\n$|"code":"\w+"\}$/.test(got)) resolve();
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve());
  });
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${token}`];
  head.push("Content-Type: application/x-ndjson", "Transfer-Encoding: chunked");
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (const part of parts) {
    if (socket.destroyed) break;
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
    await delay(5_000);
  }
  if (stalls !== true) socket.write("0\r\n\r\n");
  await answered;
  socket.destroy();
  const lines = got.slice(got.indexOf("\r\n\r\n")).split(/\r?\n/);
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as unknown);
}

const hosts = [
  ["the functions", {}],
  ["the host in Node", { serve: serveProcess }],
] as const;

test.concurrent.each(hosts)(
  "%s: accepts a slow upload and ends a stalled one with body_incomplete",
  async (_, options) => {
    await using platform = await startPlatform(options);
    const token = await adminToken(platform);
    const schemas = [{ id: "note", fields: [{ name: "text", type: "string" }] }];
    const body = { id: "slow", modules: [{ id: "notes", type: "CONTENT", schemas }] };
    expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
    const path = "/api/admin/orbs/slow/entries/bulk";
    const exported = await fetch(`${platform.origin}/api/admin/orbs/slow/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const [first = ""] = (await exported.text()).split("\n");
    const [slow, stalled, imported] = await Promise.all([
      upload(platform, { path, token, parts: Array<string>(14).fill(LINE) }),
      upload(platform, { path, token, parts: [LINE, LINE, LINE.slice(0, 9)], stalls: true }),
      upload(platform, {
        path: "/api/admin/orbs/import",
        token,
        parts: [`${first.replaceAll("slow", "anew")}\n`],
        stalls: true,
      }),
    ]);
    expect(slow.at(-1)).toEqual({ done: true, total: 14, created: 14, failed: 0 });
    expect(stalled).toMatchObject([
      { line: 1, status: 201 },
      { line: 2, status: 201 },
      { done: false, total: 2, created: 2, failed: 0, status: 400, code: "body_incomplete" },
    ]);
    expect(imported).toMatchObject([{ status: 400, code: "body_incomplete" }]);
    expect(platform.logs.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  },
  150_000,
);
