/** More parallel requests than in practice: all are answered. */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";
import { testRandom } from "../support/random.ts";

test.each([1_000])(
  "answers %i parallel requests",
  async (count) => {
    const random = testRandom();
    const platform = await sharedPlatform({});
    const token = await adminToken(platform);
    const id = `load-${count}`;
    const body = {
      id,
      modules: [
        { id: "m", type: "CONTENT", schemas: [{ id: "s", fields: [{ name: "n", type: "integer" }] }] },
      ],
    };
    expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
    const made = await call(platform, "POST", `/api/${id}/m?publish=true`, {
      token,
      body: { values: { n: 0 } },
    });
    const at = `/api/${id}/m/${made.body.id}`;
    /**
     * Retries on 503 and 504, at most 20 times: a busy machine may answer "later". The number of retries depends on its
     * speed.
     */
    const insist = async (method: string, path: string, more: Parameters<typeof call>[3] = {}) => {
      for (let tries = 0; ; tries++) {
        const answer = await call(platform, method, path, more).catch(() => undefined);
        // A connection that was idle for 5 s is closed, and some of so many requests use one.
        if (answer === undefined && tries < 20) continue;
        const { status, headers } = answer ?? { status: 0, headers: new Headers() };
        if ((status !== 503 && status !== 504) || tries === 20) return status;
        const seconds = Number(headers.get("retry-after"));
        expect(seconds).toBeGreaterThan(0);
        // Backs off as clients do: not before Retry-After, and spread out further with each attempt.
        await delay(seconds * 1000 * (1 + random.next() * 2 ** Math.min(tries, 3)));
      }
    };
    const statuses = await Promise.all(
      Array.from({ length: count }, (_, i) => {
        const headers = { "idempotency-key": `${id}-${i}` };
        if (i % 4 === 0)
          return insist("POST", `/api/${id}/m`, { token, headers, body: { values: { n: i } } });
        return insist("GET", i % 4 === 1 ? `/api/${id}/m` : at);
      }),
    );
    const counts: Record<number, number> = {};
    for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
    expect(counts).toEqual({ 200: (count * 3) / 4, 201: count / 4 });
    const { body: list } = await call(platform, "GET", `/api/admin/orbs/${id}/entries?count=true&limit=1`, {
      token,
    });
    expect(list.total).toBe(count / 4 + 1);
  },
  120_000,
);
