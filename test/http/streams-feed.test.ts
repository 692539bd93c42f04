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

/** What the feed says of an entry: its title, or that it is gone. */
interface Told {
  id: string;
  tombstone?: boolean;
  values?: { title: string };
}

test.each(["functions", "process"])("the feed of what is live tells every move, by the %s", async (host) => {
  const base = host === "functions" ? platform.origin : platform.streamsUrl;
  const response = await fetch(`${base}/api/streams/store-live?offset=now&live=sse`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const said: string[] = [];
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
  expect((await call(platform, "POST", `${entries}/${made.body.id}/unpublish`, { token })).status).toBe(200);
  // The broker opens and closes the window by itself.
  const from = Date.now() + 1200;
  const window = { validFrom: new Date(from).toISOString(), validTo: new Date(from + 1500).toISOString() };
  expect((await create("product", { title: "for a while", cost: "less" }, window)).status).toBe(201);
  await reading;
  expect(said).toEqual(["now", "gone", "for a while", "gone"]);
  expect(raw).not.toContain("counter");
  expect(raw).not.toContain("sealed");
});

describe.each(["functions", "process"])("a feed of an orb that comes and goes, by the %s", (host) => {
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

  test("is there for as long as the orb is published", async () => {
    expect((await on("", { ...ORB, id: orb })).status).toBe(201);
    const mapping = { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>` };
    expect((await call(platform, "PUT", `/api/admin/streams/${orb}`, { token, body: mapping })).status).toBe(
      201,
    );
    expect([await page(), await listed()]).toEqual([gone, false]);
    expect((await on(`/${orb}/publish`)).status).toBe(200);
    expect((await make("first")).status).toBe(201);
    expect([await page(), await listed()]).toEqual([[200, ["first"]], true]);

    const live = await get(`${orb}?offset=-1&live=sse`);
    const waiting = get(`${orb}?offset=now&live=long-poll`);
    await delay(500);
    expect((await on(`/${orb}/unpublish`)).status).toBe(200);
    const begun = Date.now();
    expect([await page(), await listed()]).toEqual([gone, false]);
    for (const [path, method] of [
      [orb, "GET"],
      [`${orb}?offset=now`, "HEAD"],
      [`${orb}?offset=now`, "GET"],
      [`${orb}?offset=now&live=long-poll`, "GET"],
    ] as const)
      expect((await get(path, method)).status).toBe(404);
    // Those who read already are let go, behind a whole event.
    const events = await readUntil(live, () => false);
    const last = events.filter(({ type }) => type !== "comment").at(-1);
    expect(last === undefined ? undefined : controlOf(last).upToDate).toBe(true);
    expect((await waiting).status).toBe(204);
    expect(Date.now() - begun).toBeLessThan(6000);

    expect((await on(`/${orb}/publish`)).status).toBe(200);
    expect([await page(), await listed()]).toEqual([[200, ["first"]], true]);
    expect((await on(`/${orb}/archive`)).status).toBe(200);
    expect([await page(), await listed()]).toEqual([gone, false]);
  });

  test("is gone with the orb, and shows nothing of it when there is another of its name", async () => {
    expect((await call(platform, "DELETE", `/api/admin/orbs/${orb}`, { token })).status).toBe(204);
    expect([await page(), await listed()]).toEqual([gone, false]);
    expect((await on("", { ...ORB, id: orb })).status).toBe(201);
    expect([await page(), await listed()]).toEqual([gone, false]);
    expect((await on(`/${orb}/publish`)).status).toBe(200);
    expect((await make("another's")).status).toBe(201);
    expect(await page()).toEqual([200, ["another's"]]);
  });
});

test.each(["functions", "process"])(
  "a stream that allows no direct gets is told of, by the %s: when it is mapped, and when it is read",
  async (host) => {
    await using broker = await publisher(platform);
    const manager = await broker.connection.jetstreamManager();
    const stream = `closed-${host}`;
    const subjectFilter = `closed.${host}.>`;
    const map = () =>
      call(platform, "PUT", `/api/admin/streams/${stream}`, { token, body: { stream, subjectFilter } });
    const read = (query: string) =>
      fetch(
        `${host === "functions" ? platform.origin : platform.streamsUrl}/api/streams/${stream}?${query}`,
        {
          headers: { authorization: `Bearer ${token}` },
        },
      );

    // What is not there yet may be mapped; a client makes it without direct gets unless it is told to.
    expect((await map()).status).toBe(201);
    await manager.streams.add({ name: stream, subjects: [subjectFilter] });
    await broker.js.publish(`closed.${host}.a`, '{"n":1}');
    expect(await map()).toMatchObject({
      status: 422,
      body: { errors: [{ path: "/stream", code: "no_direct_gets" }] },
    });
    for (const query of ["", "offset=-1", "offset=-1&live=long-poll", "offset=now&live=sse"]) {
      const answer = await read(query);
      expect(answer.status, query).toBe(502);
      expect(await answer.json()).toMatchObject({ code: "stream_not_readable" });
    }
    await manager.streams.update(stream, { allow_direct: true });
    expect((await map()).status).toBe(200);
    expect(await (await read("offset=-1")).json()).toEqual([{ n: 1 }]);
  },
);
