/** More at once than anybody has: everything is answered. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";

test.each([400, 2_000])(
  "%i requests at the same time are all answered",
  async (count) => {
    const platform = await sharedPlatform();
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
     * A machine that is busy with something else may say "later"; whoever asks again is served, each within 20 times. How
     * many have to says how fast the machine is.
     */
    const insist = async (method: string, path: string, more: Parameters<typeof call>[3] = {}) => {
      for (let tries = 0; ; tries++) {
        const answer = await call(platform, method, path, more).catch(() => undefined);
        // Connections that were idle for 5 s are closed, and so many at once meet some of them.
        if (answer === undefined && tries < 20) continue;
        const { status, headers } = answer ?? { status: 0, headers: new Headers() };
        if ((status !== 503 && status !== 504) || tries === 20) return status;
        const seconds = Number(headers.get("retry-after"));
        expect(seconds).toBeGreaterThan(0);
        // As clients of the field do: no sooner than told, and spread out the more the longer it lasts.
        await delay(seconds * 1000 * (1 + Math.random() * 2 ** Math.min(tries, 3)));
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
