/**
 * A frozen broker: connections stay open, the kernel accepts new ones, and the broker does not respond. The platform must
 * distinguish it from a slow or busy one. test/faults/cluster.test.ts freezes one of three brokers.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { Writers } from "../support/writers.ts";

const AT_ONCE = 300;
/** Time by which each response has come. The documented limit is 2 s, but the machine of the tests may be busy. */
const ANSWERED_MS = 20_000;

function signal(platform: TestPlatform, name: NodeJS.Signals): void {
  for (const { pid } of platform.brokers) if (pid !== undefined) process.kill(pid, name);
}

/**
 * Sends many requests at once.
 * @returns the responses, and the duration of the slowest one in milliseconds
 */
async function wave(platform: TestPlatform, token: string, id: string) {
  let slowest = 0;
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, n) => {
      const started = performance.now();
      const headers = { "idempotency-key": `wave-${n}` };
      const body = { values: { sku: `wave-${n}`, title: "wave" } };
      const {
        status,
        headers: got,
        body: said,
      } = await (n % 3 === 0
        ? call(platform, "POST", "/api/kept/things?publish=true", { token, headers, body })
        : call(platform, "GET", n % 3 === 1 ? "/api/kept/things?limit=5" : `/api/kept/things/${id}`));
      slowest = Math.max(slowest, performance.now() - started);
      return { status, later: got.get("retry-after"), said };
    }),
  );
  return { answers, slowest };
}

test.each([
  ["the functions in workerd", undefined],
  ["the host in Node", serveProcess],
])(
  "%s: answers hundreds of requests soon while the broker is silent, and loses or duplicates nothing",
  async (_, serve) => {
    await using platform = await startPlatform({ serve });
    const writers = new Writers(platform);
    await writers.start(6);
    const token = await adminToken(platform);
    const shown = { values: { sku: "shown", title: "shown" } };
    const made = await call(platform, "POST", "/api/kept/things?publish=true", { token, body: shown });
    const { id } = made.body;
    try {
      // Some of these requests are pending when the broker is frozen.
      const caught = wave(platform, token, id);
      await delay(250);
      signal(platform, "SIGSTOP");
      const first = await caught;
      expect(first.slowest).toBeLessThan(ANSWERED_MS);
      for (let again = 0; again < 2; again++) {
        const { answers, slowest } = await wave(platform, token, id);
        expect(slowest).toBeLessThan(ANSWERED_MS);
        for (const { status, later } of answers) {
          expect([503, 504]).toContain(status);
          expect(later).not.toBeNull();
        }
      }
      expect(first.answers.filter(({ status }) => ![200, 201, 503, 504].includes(status))).toEqual([]);
    } finally {
      signal(platform, "SIGCONT");
    }
    const health = async () => (await call(platform, "GET", "/api/health")).status;
    await expect.poll(health).toBe(200);
    await writers.stop();

    // Each request is repeated with its key and stored once, whatever happened to the first attempt. A busy machine may
    // serve some of so many requests too late, so clients repeat them.
    await until(async () => {
      const { answers } = await wave(platform, token, id);
      const failed = answers.filter(({ status }) => status !== 200 && status !== 201);
      expect(failed.filter(({ status }) => status !== 503 && status !== 504)).toEqual([]);
      return failed.length === 0;
    });
    const { body } = await call(platform, "GET", "/api/kept/things?filter[title]=wave&count=true&limit=1", {
      token,
    });
    expect(body.total).toBe(AT_ONCE / 3);
    for (const one of writers.acknowledged) {
      const { status } = await call(platform, "GET", `/api/admin/orbs/kept/entries/${one.id}`, { token });
      expect(status, one.sku).toBe(200);
    }
    writers.expectFairAnswers();
  },
  120_000,
);
