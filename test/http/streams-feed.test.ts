import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { controlOf, publisher, readUntil, sentEvents } from "../support/streams.ts";

let platform: TestPlatform;
let token: string;
const ORB = {
  id: "store",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          fields: [
            { name: "title", type: "string" },
            { name: "cost", type: "string", sensitive: true },
          ],
        },
        { id: "secret", access: { read: "admin" }, fields: [{ name: "title", type: "string" }] },
      ],
    },
  ],
};

beforeAll(async () => {
  platform = await startPlatform({ streams: true });
  token = await adminToken(platform);
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body: ORB })).status).toBe(201);
  expect((await call(platform, "POST", "/api/admin/orbs/store/publish", { token })).status).toBe(200);
  const mapping = { stream: "østore", subjectFilter: "store.*.public.>", description: "What is live" };
  const put = await call(platform, "PUT", "/api/admin/streams/store-live", { token, body: mapping });
  expect(put.status).toBe(201);
  return () => platform.stop();
});

/** A message of the feed: the entry's values, or a tombstone. */
interface Told {
  id: string;
  tombstone?: boolean;
  values?: { title: string };
}

test("accepts the names of the specification in a mapping, but not two names for one property", async () => {
  const path = "/api/admin/streams/capitals";
  const body = { Stream: "heartbeat", SubjectFilter: "heartbeat", Description: "As specified" };
  const made = await call(platform, "PUT", path, { token, body });
  expect(made).toMatchObject({
    status: 201,
    body: { stream: "heartbeat", subjectFilter: "heartbeat", description: "As specified" },
  });
  const both = await call(platform, "PUT", path, { token, body: { ...body, stream: "wallet" } });
  expect(both).toMatchObject({
    status: 422,
    body: { errors: [{ path: "/Stream", code: "unknown_property" }] },
  });
});

test.each(["functions", "process"])(
  "the feed of published entries reports every change, served by the %s",
  async (host) => {
    const base = host === "functions" ? platform.origin : platform.streamsUrl;
    const response = await fetch(`${base}/api/streams/store-live?offset=now&live=sse`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const said: string[] = [];
    const told = async (title: string) => {
      while (!said.includes(title)) await delay(20);
    };
    let raw = "";
    const reading = (async () => {
      for await (const { type, data } of sentEvents(response)) {
        if (type !== "data") continue;
        raw += data;
        for (const { tombstone, values } of JSON.parse(data) as Told[])
          said.push(tombstone === true ? "gone" : (values?.title ?? ""));
        if (said.length === 4) return;
      }
    })();
    const entries = "/api/admin/orbs/store/entries";
    const create = (schema: string, values: object, more: object = {}) =>
      call(platform, "POST", `${entries}?publish=true`, {
        token,
        body: { module: "catalog", schema, values, ...more },
      });
    const made = await create("product", { title: "now", cost: "under the counter" });
    expect(made.status).toBe(201);
    expect((await create("secret", { title: "hidden" })).status).toBe(201);
    // The stream keeps only the newest state of an entry, so a reader that is late misses what has been replaced.
    await told("now");
    expect((await call(platform, "POST", `${entries}/${made.body.id}/unpublish`, { token })).status).toBe(
      200,
    );
    // The broker opens and closes the validity window by itself.
    const from = Date.now() + 2_500;
    const window = { validFrom: new Date(from).toISOString(), validTo: new Date(from + 6_000).toISOString() };
    expect((await create("product", { title: "for a while", cost: "less" }, window)).status).toBe(201);
    await reading;
    expect(said).toEqual(["now", "gone", "for a while", "gone"]);
    expect(raw).not.toContain("counter");
    expect(raw).not.toContain("sealed");
  },
);

describe.each(["functions", "process"])(
  "feed of an orb that is unpublished, deleted and recreated, served by the %s",
  (host) => {
    const orb = `shelf-${host}`;
    const headers = () => ({ authorization: `Bearer ${token}` });
    const get = (path: string, method = "GET") =>
      fetch(`${host === "functions" ? platform.origin : platform.streamsUrl}/api/streams/${path}`, {
        method,
        headers: headers(),
      });
    const page = async () => {
      const response = await get(`${orb}?offset=-1`);
      const body = (await response.json()) as Told[] | { code: string };
      return [response.status, Array.isArray(body) ? body.map(({ values }) => values?.title) : body.code];
    };
    const listed = async () =>
      ((await (await get("")).json()) as { name: string }[]).some(({ name }) => name === orb);
    const on = (path: string, body?: object) =>
      call(platform, "POST", `/api/admin/orbs${path}`, { token, ...(body === undefined ? {} : { body }) });
    const make = (title: string) =>
      on(`/${orb}/entries?publish=true`, { module: "catalog", schema: "product", values: { title } });
    const gone = [404, "stream_not_found"];

    test("exists only while the orb is published", async () => {
      expect((await on("", { ...ORB, id: orb })).status).toBe(201);
      const mapping = { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>` };
      expect(
        (await call(platform, "PUT", `/api/admin/streams/${orb}`, { token, body: mapping })).status,
      ).toBe(201);
      expect([await page(), await listed()]).toEqual([gone, false]);
      expect((await on(`/${orb}/publish`)).status).toBe(200);
      expect((await make("first")).status).toBe(201);
      expect([await page(), await listed()]).toEqual([[200, ["first"]], true]);

      const live = await get(`${orb}?offset=-1&live=sse`);
      /** Unpublishes the orb while a reader waits, and returns the reader's status. */
      const unpublish = async (wait: number) => {
        const waiting = get(`${orb}?offset=now&live=long-poll`);
        await delay(wait);
        expect((await on(`/${orb}/unpublish`)).status).toBe(200);
        return (await waiting).status;
      };
      let ended = await unpublish(500);
      expect([await page(), await listed()]).toEqual([gone, false]);
      for (const [path, method] of [
        [orb, "GET"],
        [`${orb}?offset=now`, "HEAD"],
        [`${orb}?offset=now`, "GET"],
        [`${orb}?offset=now&live=long-poll`, "GET"],
      ] as const)
        expect((await get(path, method)).status).toBe(404);
      // Active readers are disconnected after a complete event.
      const events = await readUntil(live, () => false);
      const last = events.filter(({ type }) => type !== "comment").at(-1);
      expect(last === undefined ? undefined : controlOf(last).upToDate).toBe(true);
      // On a busy machine, the reader may come only after the orb is unpublished.
      for (let wait = 1_000; ended === 404 && wait < 20_000; wait *= 2) {
        expect((await on(`/${orb}/publish`)).status).toBe(200);
        ended = await unpublish(wait);
      }
      expect(ended).toBe(204);

      expect((await on(`/${orb}/publish`)).status).toBe(200);
      expect([await page(), await listed()]).toEqual([[200, ["first"]], true]);
      expect((await on(`/${orb}/archive`)).status).toBe(200);
      expect([await page(), await listed()]).toEqual([gone, false]);
    });

    test("disappears with the orb and shows nothing of it after the orb is recreated", async () => {
      expect((await call(platform, "DELETE", `/api/admin/orbs/${orb}`, { token })).status).toBe(204);
      expect([await page(), await listed()]).toEqual([gone, false]);
      expect((await on("", { ...ORB, id: orb })).status).toBe(201);
      expect([await page(), await listed()]).toEqual([gone, false]);
      expect((await on(`/${orb}/publish`)).status).toBe(200);
      expect((await make("another's")).status).toBe(201);
      expect(await page()).toEqual([200, ["another's"]]);
    });
  },
);

test.each(["functions", "process"])(
  "reads a stream without direct get like any other, served by the %s",
  async (host) => {
    await using broker = await publisher(platform);
    const manager = await broker.connection.jetstreamManager();
    const stream = `closed-${host}`;
    await manager.streams.add({ name: stream, subjects: [`closed.${host}.>`] });
    expect((await manager.streams.info(stream)).config.allow_direct).toBe(false);
    const publish = (kind: string, n: number) =>
      broker.js.publish(`closed.${host}.${kind}`, JSON.stringify({ kind, n }));
    for (let n = 0; n < 300; n++) await publish(n % 100 === 0 ? "rare" : "often", n);
    await manager.streams.deleteMessage(stream, 5);
    await manager.streams.deleteMessage(stream, 300);

    const origin = host === "functions" ? platform.origin : platform.streamsUrl;
    for (const [name, filter] of [
      [stream, ">"],
      [`rare-${host}`, "rare"],
    ]) {
      const body = { stream, subjectFilter: `closed.${host}.${filter}` };
      expect((await call(platform, "PUT", `/api/admin/streams/${name}`, { token, body })).status).toBe(201);
    }
    const read = async (name: string, query: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${origin}/api/streams/${name}?${query}`, { headers });
      expect(answer.status, query).toBe(200);
      return answer;
    };
    /** Reads all pages. */
    const all = async (name: string) => {
      const numbers: number[] = [];
      for (let offset = "-1"; ; ) {
        const page = await read(name, `offset=${offset}`);
        numbers.push(...((await page.json()) as { n: number }[]).map(({ n }) => n));
        offset = page.headers.get("stream-next-offset") ?? "";
        if (page.headers.has("stream-up-to-date")) return { numbers, offset };
      }
    };
    const kept = Array.from({ length: 299 }, (_, n) => n).filter((n) => n !== 4);
    const { numbers, offset } = await all(stream);
    expect(numbers).toEqual(kept);
    expect((await all(`rare-${host}`)).numbers).toEqual([0, 100, 200]);

    const [polled] = await Promise.all([
      read(stream, `offset=${offset}&live=long-poll`).then((answer) => answer.json()),
      delay(300).then(() => publish("often", 1_000)),
    ]);
    expect(polled).toEqual([{ kind: "often", n: 1_000 }]);
    const events = await read(`rare-${host}`, `offset=${offset}&live=sse`);
    const [heard] = await Promise.all([
      readUntil(events, ({ data }) => data.includes("3000")),
      delay(300).then(() => publish("rare", 3_000)),
    ]);
    expect(JSON.stringify(heard)).toContain("3000");
  },
);
