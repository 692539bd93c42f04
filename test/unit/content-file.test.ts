import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { ContentFile } from "../../scripts/host/content/content-file.ts";
import { sendContent } from "../../scripts/host/content/send.ts";
import type { SentContent } from "../../shared/deps.ts";
import { smallDisk } from "../support/disk.ts";
import { testRandom } from "../support/random.ts";

const CHUNK = 1_000;

function opened(bytes: number, onFailure: (error: unknown) => void, dir?: string): ContentFile {
  const file = new ContentFile(bytes, CHUNK, onFailure, dir);
  onTestFinished(() => file.close());
  return file;
}

const never = (error: unknown) => {
  throw error;
};

const chunkOf = (object: number, chunk: number) =>
  new Uint8Array(CHUNK).map((_, at) => object * 31 + chunk * 7 + at);

test("returns only what was written, while blocks are replaced and read at the same time", async () => {
  const random = testRandom();
  const file = opened(5 * 8 * CHUNK, never);
  let found = 0;
  const one = async () => {
    const [object, chunk] = [random.below(3), random.below(24)];
    if (random.below(2) === 0) file.write(`object${object}`, chunk, chunkOf(object, chunk));
    const into = new Uint8Array(3 * CHUNK - 10);
    const length = (await file.read(`object${object}`, chunk, into)) ?? 0;
    if (length > 0) found++;
    const wanted = [0, 1, 2].flatMap((more) => [...chunkOf(object, chunk + more)]);
    expect([...into.subarray(0, length)]).toEqual(wanted.slice(0, length));
  };
  for (let round = 0; round < 300; round++) {
    await Promise.all(Array.from({ length: 12 }, one));
    // The disk needs a turn of the event loop.
    await setImmediate();
  }
  expect(found).toBeGreaterThan(20);
});

test("closes while it is read and written, and keeps nothing afterwards", async () => {
  const file = opened(2 * 8 * CHUNK, never);
  file.write("a", 0, chunkOf(1, 0));
  await expect.poll(() => file.read("a", 0, new Uint8Array(CHUNK)) ?? 0).toBe(CHUNK);
  const reading = file.read("a", 0, new Uint8Array(CHUNK));
  file.write("a", 1, chunkOf(1, 1));
  file.close();
  expect([await reading, file.read("a", 0, new Uint8Array(CHUNK))]).toEqual([CHUNK, undefined]);
});

test("gives up a file that cannot be written, and says so once", async ({ skip }) => {
  const home = mkdtempSync(join(tmpdir(), "content-file-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const dir = join(home, "disk");
  const disk = smallDisk(dir, 1);
  if (disk === undefined) return skip("needs the right to mount a disk");
  onTestFinished(() => void disk.release());
  const failures: unknown[] = [];
  const file = opened(64 * 1024 * 1024, (error) => failures.push(error), dir);
  for (let chunk = 0; chunk < 2_000; chunk++) file.write("a", chunk, chunkOf(1, chunk));
  await expect.poll(() => failures.length).toBe(1);
  file.write("a", 0, chunkOf(1, 0));
  expect([file.read("a", 0, new Uint8Array(CHUNK)), failures.length]).toEqual([undefined, 1]);
});

type Pages = SentContent["pages"];

/** Serves pages to one client. @returns the client, the response, and whether all pages were read or given back */
async function served(
  pages: (ended: () => void) => Pages,
  stalledMs: number,
  bytes = Number.POSITIVE_INFINITY,
) {
  const ended = Promise.withResolvers<void>();
  const response = Promise.withResolvers<ServerResponse>();
  const errors: string[] = [];
  const server = createServer((_, answer) => {
    response.resolve(answer);
    const stopped = (error: unknown) => void errors.push(String(error));
    void sendContent(answer, { pages: pages(ended.resolve), bytes, stopped }, stalledMs);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => undefined);
  onTestFinished(() => void client.destroy());
  client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  return { client, ended: ended.promise, response: response.promise, errors };
}

async function* endless(ended: () => void): Pages {
  try {
    for (;;) yield [new Uint8Array(100_000), new Uint8Array(100_000)];
  } finally {
    ended();
  }
}

test("ends a download whose reader takes nothing", async () => {
  const { client, ended, response, errors } = await served(endless, 200);
  client.pause();
  await ended;
  expect([(await response).destroyed, errors]).toEqual([true, ["Error: the client receives nothing"]]);
});

test("ends the reading when the client closes the connection", async () => {
  const { client, ended, errors } = await served(endless, 60_000);
  client.once("data", () => client.destroy());
  await ended;
  expect(errors).toEqual([]);
});

test("ends the response with the last page, and keeps the connection", async () => {
  async function* two(ended: () => void): Pages {
    try {
      yield [Buffer.from("ab"), Buffer.from("c")];
      yield [Buffer.from("de")];
    } finally {
      ended();
    }
  }
  const { client, ended, errors } = await served(two, 60_000, 5);
  let got = "";
  client.on("data", (data: Buffer) => {
    got += data.toString();
  });
  await ended;
  await expect.poll(() => got).toMatch(/\r\n\r\n2\r\nab\r\n1\r\nc\r\n2\r\nde\r\n0\r\n\r\n$/);
  expect([client.destroyed, errors]).toEqual([false, []]);
});
