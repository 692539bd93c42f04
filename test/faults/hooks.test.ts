/** Hooks after writes while the processes that run them, and the broker, are killed. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type HooksProcess, serveHooks } from "../../scripts/host/hooks.ts";
import { adminToken, call } from "../support/auth.ts";
import { hookService, Refusal } from "../support/hooks.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform } from "../support/platform.ts";
import { testRandom } from "../support/random.ts";
import { natsUrl } from "../support/services.ts";

const ENTRIES = 10;
const REVISIONS = 12;

/** Kills a process, unless it is already dead and not yet started again. */
function kill({ pid }: HooksProcess): void {
  try {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

test("every revision is delivered, in order for each entry, while processes and the broker are killed", async () => {
  const random = testRandom();
  await using platform = await startPlatform({ hooks: true, env: { HOOKS_RETRY_MS: "50" } });
  const log: string[] = [];
  await using second = await serveHooks({ env: platform.bindings, log: (line) => log.push(line) });
  const first = platform.hooks;
  if (first === undefined) throw new Error("no hooks process");
  await using service = await hookService({ tcpUrl: () => natsUrl(platform) }, "notes.hear");
  const accepted: { entry: string; revision: number }[] = [];
  const refusing = random.fork();
  service.answer = ({ input }) => {
    // One call in ten fails, so that revisions also wait for another attempt.
    if (refusing.below(10) === 0) return new Refusal("503", "Not now.");
    accepted.push({ entry: input.entry.id, revision: input.entry.revision });
    return null;
  };
  const token = await adminToken(platform);
  await createOrb(platform, token, {
    id: "told",
    uses: [{ service: "notes", handlers: ["hear"] }],
    hooks: [{ id: "hear", on: ["entry.created", "entry.updated"], mode: "after", handler: "notes.hear" }],
    modules: [
      { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "n", type: "integer" }] }] },
    ],
  });

  /** Sends a write until it is acknowledged. @returns the entry */
  const write = async (method: string, path: string, n: number) => {
    for (;;) {
      const answered = await call(platform, method, path, { token, body: { values: { n } } }).catch(
        () => undefined,
      );
      if (answered !== undefined && answered.status < 300) return answered.body;
      await delay(100);
    }
  };
  const writing = Promise.all(
    Array.from({ length: ENTRIES }, async () => {
      const { id } = await write("POST", "/api/told/news", 0);
      for (let n = 1; n < REVISIONS; n++) await write("PUT", `/api/told/news/${id}`, n);
      return String(id);
    }),
  );
  for (let round = 0; round < 4; round++) {
    await delay(200 + random.below(400));
    kill(random.below(2) === 0 ? first : second);
    if (round % 2 === 1) {
      await platform.broker?.kill("SIGKILL");
      await platform.broker?.ready();
    }
  }
  kill(first);
  kill(second);
  const ids = await writing;

  const expected: string[] = [];
  for (const id of ids) {
    const { revision } = await write("PUT", `/api/told/news/${id}`, -1);
    for (let n = 1; n <= Number(revision); n++) expected.push(`${id}.${n}`);
  }
  const deadline = Date.now() + 60_000;
  const missing = () => {
    const got = new Set(accepted.map(({ entry, revision }) => `${entry}.${revision}`));
    return expected.filter((one) => !got.has(one));
  };
  while (missing().length > 0 && Date.now() < deadline) await delay(100);
  expect(missing()).toEqual([]);
  for (const id of ids) {
    const once = new Set(accepted.flatMap(({ entry, revision }) => (entry === id ? [revision] : [])));
    expect([...once]).toEqual([...once].toSorted((a, b) => a - b));
  }
}, 180_000);
