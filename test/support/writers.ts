/** Clients that write over HTTP while something fails, and checks of the stored data afterwards. */
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { adminToken, call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";
import { until } from "./races.ts";

/** One response, as a client received it. */
export interface Seen {
  status: number;
  what: string;
}

/** The state of one entry that the server has acknowledged. */
interface Kept {
  sku: string;
  id: string;
  /** Acknowledged titles by revision. */
  title: string;
  operations: string[];
}

const ORB = {
  id: "kept",
  modules: [
    {
      id: "things",
      type: "CONTENT",
      schemas: [
        {
          id: "thing",
          fields: [
            { name: "sku", type: "string", unique: true, required: true },
            { name: "title", type: "string", required: true },
            { name: "body", type: "text" },
            { name: "state", type: "string", enum: ["new", "used"], default: "new" },
          ],
        },
      ],
    },
  ],
};
const AT = "/api/kept/things";
const GIVE_UP_MS = 60_000;
/** Milliseconds between two entries of a writer: more entries would find nothing else, and each is checked at the end. */
const REST_MS = 50;
/** Milliseconds that a client waits after a 503. */
const PAUSE_MS = 100;

/** Writers on one platform. Each repeats a request until it gets a final response. */
export class Writers {
  readonly seen: Seen[] = [];
  readonly acknowledged: Kept[] = [];
  readonly #platform: TestPlatform;
  readonly #body: string;
  #token = "";
  #stopped = false;
  #running: Promise<void>[] = [];
  /** Why a writer ended, which ends the test too. */
  #failure: Error | undefined;

  /** @param body text of every entry, which determines the message size */
  constructor(platform: TestPlatform, body = "") {
    this.#platform = platform;
    this.#body = body;
  }

  /** Creates the orb and starts writing. */
  async start(count: number): Promise<void> {
    const token = await adminToken(this.#platform);
    this.#token = token;
    expect((await call(this.#platform, "POST", "/api/admin/orbs", { token, body: ORB })).status).toBe(201);
    expect((await call(this.#platform, "POST", "/api/admin/orbs/kept/publish", { token })).status).toBe(200);
    this.#running = Array.from({ length: count }, (_, n) =>
      this.#write(n).catch((error: Error) => {
        this.#failure ??= error;
      }),
    );
  }

  /** Waits until the writers have stored as many further entries. */
  async more(count: number): Promise<void> {
    const known = this.acknowledged.length;
    await this.#until(() => this.acknowledged.length >= known + count);
  }

  /** Waits until a response had this status. */
  async met(status: number): Promise<void> {
    await this.#until(() => this.seen.some((one) => one.status === status));
  }

  async #until(holds: () => boolean): Promise<void> {
    await until(() => this.#failure !== undefined || holds());
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Stops after the requests in progress have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Number of responses by status; 0 counts broken connections. */
  get statuses(): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { status } of this.seen) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  async #ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await call(this.#platform, method, path, {
      token: this.#token,
      headers,
      once: true,
      ...(body === undefined ? {} : { body }),
    }).catch((error: Error) => ({ status: 0, body: String(error.cause ?? error) }));
    const what = `${method} ${path}${answer.status === 0 ? `: ${answer.body}` : ""}`;
    this.seen.push({ status: answer.status, what });
    return answer;
  }

  /**
   * Repeats a request until it gets a final response. @returns the response, or null if the writers were stopped before
   */
  async #insist(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const began = Date.now();
    for (;;) {
      const answer = await this.#ask(method, path, body, headers);
      if (![0, 429, 503, 504].includes(answer.status)) return answer;
      if (Date.now() - began > GIVE_UP_MS) throw new Error(`${method} ${path} is still ${answer.status}`);
      await delay(PAUSE_MS);
    }
  }

  async #write(writer: number): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const sku = `w${writer}-${i}`;
      const values = { sku, title: `${sku} first`, body: this.#body, state: "new" };
      const made = await this.#insist("POST", AT, { values }, { "idempotency-key": `${sku}-create` });
      if (made.status !== 201)
        throw new Error(`creating answered ${made.status}: ${JSON.stringify(made.body)}`);
      const kept: Kept = { sku, id: made.body.id, title: values.title, operations: ["create"] };
      this.acknowledged.push(kept);
      const path = `${AT}/${kept.id}`;

      const title = `${sku} second`;
      const changed = await this.#insist(
        "PUT",
        path,
        { values: { ...values, title, state: "used" } },
        { "if-match": '"1"' },
      );
      if (changed.status === 412) {
        // This response shows that an earlier attempt was stored, although its response was lost.
        const now = await this.#insist("GET", `/api/admin/orbs/kept/entries/${kept.id}`);
        expect(now.body).toMatchObject({ revision: 2, values: { title } });
      } else if (changed.status !== 200) {
        throw new Error(`updating answered ${changed.status}: ${JSON.stringify(changed.body)}`);
      }
      kept.title = title;
      kept.operations.push("update");

      const live = await this.#insist("POST", `${path}/publish`, undefined, {
        "idempotency-key": `${sku}-publish`,
      });
      if (live.status !== 200)
        throw new Error(`publishing answered ${live.status}: ${JSON.stringify(live.body)}`);
      kept.operations.push("publish");
      await delay(REST_MS);
    }
  }

  /**
   * Asserts that every response was acceptable.
   * @param options.broken whether connections may have broken because the server was killed
   */
  expectFairAnswers({ broken = false } = {}): void {
    const fair = new Set([...(broken ? [0] : []), 200, 201, 204, 409, 412, 429, 503, 504]);
    expect(this.seen.filter(({ status }) => !fair.has(status))).toEqual([]);
  }

  /** Asserts that all acknowledged writes are stored completely and only once, and that nothing else is stored. */
  async expectKept(): Promise<void> {
    const listed = new Map<string, { id: string; title: string; status: string }[]>();
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await call(this.#platform, "GET", `/api/admin/orbs/kept/entries?limit=100${query}`, {
        token: this.#token,
      });
      expect(page.status).toBe(200);
      for (const { id, status, values } of page.body.items) {
        const all = listed.get(values.sku) ?? [];
        listed.set(values.sku, [...all, { id, title: values.title, status }]);
      }
      cursor = page.body.nextCursor;
    }
    const wanted = new Map(
      this.acknowledged.map(({ sku, id, title, operations }) => [
        sku,
        [{ id, title, status: operations.includes("publish") ? "PUBLISHED" : "SAVED" }],
      ]),
    );
    expect(listed).toEqual(wanted);
    for (const { id, sku, title, operations } of this.acknowledged) {
      const path = `/api/admin/orbs/kept/entries/${id}/revisions?sort=revision`;
      const { body } = await call(this.#platform, "GET", path, { token: this.#token });
      const told = body.items.map((one: { operation: string }) => one.operation);
      expect(told, sku).toEqual(operations);
      if (!operations.includes("publish")) continue;
      const live = await call(this.#platform, "GET", `${AT}/${id}`);
      expect(live.body?.values, sku).toMatchObject({ sku, title });
    }
    const [one] = this.acknowledged;
    const again = await call(this.#platform, "POST", AT, {
      token: this.#token,
      body: { values: { sku: one?.sku, title: "a second one" } },
    });
    expect(again.status).toBe(409);
  }
}
