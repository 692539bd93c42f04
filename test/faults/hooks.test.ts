/** Hooks after writes and webhooks while the processes that run them, and the broker, are killed. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type HooksProcess, serveHooks } from "../../scripts/host/hooks.ts";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { certificates } from "../support/certificates.ts";
import { hookService, Refusal } from "../support/hooks.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { testRandom } from "../support/random.ts";
import { startReceiver } from "../support/receiver.ts";
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
  await using platform = await startPlatform();
  const files = certificates(tempDir("certificates"));
  await using receiver = await startReceiver(files);
  const env = {
    ...platform.bindings,
    HOOKS_RETRY_MS: "50",
    HOOKS_ATTEMPTS: "20",
    HOOKS_ALLOWED_NETWORKS: "127.0.0.0/8",
    NODE_EXTRA_CA_CERTS: files.ca,
  };
  const log = () => undefined;
  await using first = await serveHooks({ programs: testPrograms(), env, log });
  await using second = await serveHooks({ programs: testPrograms(), env, log });
  await using service = await hookService({ tcpUrl: () => natsUrl(platform) }, "notes.hear");
  interface Accepted {
    entry: string;
    revision: number;
  }
  const accepted: Accepted[] = [];
  const posted: Accepted[] = [];
  const refusing = random.fork();
  service.answer = ({ input }) => {
    // One call in ten fails, so that revisions also wait for another attempt.
    if (refusing.below(10) === 0) return new Refusal("503", "Not now.");
    accepted.push({ entry: input.entry.id, revision: input.entry.revision });
    return null;
  };
  const failing = random.fork();
  receiver.answer = (response, { body }) => {
    const refuse = failing.below(10) === 0;
    const { id: entry, revision } = (JSON.parse(body) as { data: { id: string; revision: number } }).data;
    if (!refuse) posted.push({ entry, revision });
    response.writeHead(refuse ? 500 : 204).end();
  };
  const token = await adminToken(platform);
  await createOrb(platform, token, {
    id: "told",
    uses: [{ service: "notes", handlers: ["hear"] }],
    hooks: [
      { id: "hear", on: ["entry.created", "entry.updated"], mode: "after", handler: "notes.hear" },
      { id: "post", on: ["entry.created", "entry.updated"], url: receiver.url },
    ],
    modules: [
      { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "n", type: "integer" }] }] },
    ],
  });

  const made = await call(platform, "POST", "/api/admin/orbs/told/hooks/post/secret", { token });
  expect(made).toMatchObject({ status: 200, body: { secret: expect.stringMatching(/^whsec_/) } });

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
  // A delivery that failed three times is repeated after a minute.
  const deadline = Date.now() + 150_000;
  const lanes = [accepted, posted];
  const missing = () =>
    lanes.flatMap((lane) => {
      const got = new Set(lane.map(({ entry, revision }) => `${entry}.${revision}`));
      return expected.filter((one) => !got.has(one));
    });
  while (missing().length > 0 && Date.now() < deadline) await delay(100);
  expect(missing()).toEqual([]);
  for (const [id, lane] of ids.flatMap((one) => lanes.map((lane) => [one, lane] as const))) {
    const once = new Set(lane.flatMap(({ entry, revision }) => (entry === id ? [revision] : [])));
    expect([...once]).toEqual([...once].toSorted((a, b) => a - b));
  }
}, 300_000);
