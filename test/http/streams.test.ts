import { setTimeout as delay } from "node:timers/promises";
import { headers as messageHeaders } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { raw } from "../support/raw.ts";
import { controlOf, type Publisher, publisher, readUntil, sentEvents, signIn } from "../support/streams.ts";

const LONG_POLL_MS = 1_500;
let platform: TestPlatform;
let broker: Publisher;
let admin: string;
const bases: Record<string, string> = {};

beforeAll(async () => {
  platform = await startPlatform({
    streams: true,
    env: { STREAMS_LONG_POLL_MS: String(LONG_POLL_MS), ALLOWED_ORIGINS: "https://app.example" },
  });
  bases.functions = platform.origin;
  bases.process = platform.streamsUrl ?? "";
  admin = await signIn(platform);
  broker = await publisher(platform);
  const manager = await broker.connection.jetstreamManager();
  await manager.streams.add({ name: "NEWS", subjects: ["news.>"], allow_direct: true });
  await map("missing", "NOWHERE", "nowhere.>");
});
afterAll(async () => {
  await broker?.[Symbol.asyncDispose]();
  await platform?.stop();
});

const auth = (token: string) => ({ authorization: `Bearer ${token}` });

function map(name: string, stream: string, subjectFilter: string, token = admin): Promise<Response> {
  return fetch(`${platform.origin}/api/admin/streams/${name}`, {
    method: "PUT",
    headers: { ...auth(token), "content-type": "application/json" },
    body: JSON.stringify({ stream, subjectFilter, description: name }),
  });
}

/** Creates a broker stream with a mapping, for one test only. */
async function ownStream(name: string, messages: string[] = []): Promise<void> {
  const manager = await broker.connection.jetstreamManager();
  await manager.streams.add({ name: name.toUpperCase(), subjects: [`${name}.>`], allow_direct: true });
  expect((await map(name, name.toUpperCase(), `${name}.>`)).status).toBe(201);
  for (const message of messages) await broker.js.publish(`${name}.a`, message);
}

const offset = (position: number) => String(position).padStart(20, "0");

async function problemOf(response: Response): Promise<[number, string]> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const body = (await response.json()) as { status: number; code: string };
  expect(body.status).toBe(response.status);
  return [response.status, body.code];
}

describe("mappings", () => {
  test("are created, read, replaced and removed by platform admins only", async () => {
    const user = await signIn(platform, { realm: "auth", sub: "user1" });
    const url = `${platform.origin}/api/admin/streams/managed`;
    expect((await map("managed", "NEWS", "news.x", user)).status).toBe(403);
    expect((await fetch(url)).status).toBe(401);
    expect((await map("managed", "NEWS", "news.x")).status).toBe(201);
    expect((await map("managed", "NEWS", "news.y")).status).toBe(200);
    const read = await fetch(url, { headers: auth(admin) });
    expect(await read.json()).toEqual({
      name: "managed",
      stream: "NEWS",
      subjectFilter: "news.y",
      description: "managed",
      read: "user",
    });
    const listed = await fetch(`${platform.origin}/api/admin/streams`, { headers: auth(admin) });
    expect(((await listed.json()) as { name: string }[]).map(({ name }) => name)).toContain("managed");
    expect((await fetch(url, { method: "DELETE", headers: auth(admin) })).status).toBe(204);
    expect((await fetch(url, { method: "DELETE", headers: auth(admin) })).status).toBe(404);
    expect((await fetch(url, { headers: auth(admin) })).status).toBe(404);
    const log = `${platform.origin}/api/admin/audit?filter[action]=stream&filter[target]=managed&sort=at`;
    const { items } = (await (await fetch(log, { headers: auth(admin) })).json()) as {
      items: { detail: string }[];
    };
    expect(items.map(({ detail }) => detail)).toEqual([
      "created NEWS news.x",
      "replaced NEWS news.y",
      "removed NEWS news.y",
    ]);
  });

  test.each([
    ["platform", "platform.>", "/stream"],
    ["KV_sessions", "$KV.sessions.>", "/stream"],
    ["limits", "_limit.>", "/stream"],
    ["quotas", "_quota.>", "/stream"],
    ["quotas_long", "_quota.quotas_long.>", "/stream"],
    ["usage", "_usage.>", "/stream"],
    ["NEWS", "$KV.>", "/subjectFilter"],
    ["NEWS", "_INBOX.>", "/subjectFilter"],
    ["NEWS", "news..x", "/subjectFilter"],
    ["NEWS", "news.> x", "/subjectFilter"],
    ["NEWS", "news.>.x", "/subjectFilter"],
    ["NEWS", "news.a{userID}", "/subjectFilter"],
    ["NEWS", "", "/subjectFilter"],
    ["øshop", "shop.>", "/subjectFilter"],
    ["øshop", "shop.content.owner.>", "/subjectFilter"],
    ["øshop", "shop.*.user.>", "/subjectFilter"],
    ["øshop", "shop.*.*.>", "/subjectFilter"],
    ["øshop", "shop._ix.public.>", "/subjectFilter"],
    ["øshop", "*.content.public.>", "/subjectFilter"],
    ["øshop", "shop.content.{userID}.x", "/subjectFilter"],
    ["a b", "x", "/stream"],
  ])("refuses a mapping of %s to %j", async (stream, filter, path) => {
    const response = await map("refused", stream, filter);
    expect(response.status).toBe(422);
    const { errors } = (await response.json()) as { errors: { path: string }[] };
    expect(errors.map((error) => error.path)).toContain(path);
    expect((await fetch(`${platform.origin}/api/streams/refused`, { headers: auth(admin) })).status).toBe(
      404,
    );
  });

  test("answers 404 for an invalid mapping name", async () => {
    expect((await map("a.b", "NEWS", "news.a")).status).toBe(404);
    expect((await map("*", "NEWS", "news.a")).status).toBe(404);
  });
});

describe.each(["functions", "process"])("streams served by the %s", (host) => {
  const get = (path: string, headers: Record<string, string> = auth(admin), method = "GET") =>
    fetch(`${bases[host]}/api/streams/${path}`, { method, headers });
  const own = (name: string) => `${name}${host}`;

  test("lists the existing streams for signed-in callers", async () => {
    const user = await signIn(platform, { realm: "auth", sub: "user1" });
    for (const path of ["", "/"]) {
      const response = await fetch(`${bases[host]}/api/streams${path}`, { headers: auth(user) });
      expect(response.status).toBe(200);
      const streams = (await response.json()) as { name: string }[];
      expect(streams).toContainEqual({
        name: "heartbeat",
        description: expect.any(String),
        href: "/api/streams/heartbeat",
      });
      // This name is mapped, but the broker has no such stream: reading it is 404.
      expect(streams.map(({ name }) => name)).not.toContain("missing");
    }
    const anonymous = await get("", {});
    expect(await anonymous.clone().text()).toContain("?realm=");
    expect(await problemOf(anonymous)).toEqual([401, "authentication_required"]);
  });

  test("refuses unknown query parameters on every path except a stream's own", async () => {
    const ask = (path: string) => fetch(`${bases[host]}/api/${path}`, { headers: auth(admin) });
    const unknown = (name: string) => ({
      path: `/${name}`,
      code: "unknown_parameter",
      message: expect.any(String),
    });
    const probe = { path: "/probe", code: "enum", message: "must be one of: ready, read, live" };
    for (const [path, errors] of [
      ["streams?limit=1&realm=auth&limit=2", [unknown("limit")]],
      ["streams/?constructor=1&a%2Fb=", [unknown("constructor"), unknown("a~1b")]],
      ["metrics?x=", [unknown("x")]],
      ["health?x=1", [unknown("x")]],
      ["health?probe=deep&x=1", [probe, unknown("x")]],
      ["health?probe=live&probe=live", [probe]],
    ] as const) {
      const response = await ask(path);
      expect([path, response.status]).toEqual([path, 400]);
      expect(await response.json()).toMatchObject({ code: "invalid_parameter", errors });
    }
    for (const path of ["streams?realm=auth", "metrics", "health?probe=ready"]) {
      expect([path, (await ask(path)).status]).toEqual([path, 200]);
    }
    const live = await ask("health?probe=live");
    expect([live.status, await live.json()]).toEqual([
      200,
      expect.not.objectContaining({ broker: expect.anything() }),
    ]);
    expect(await problemOf(await get("?x=1", {}))).toEqual([401, "authentication_required"]);
  });

  test("sends events without a parameter, and resumes after Last-Event-ID", async () => {
    await ownStream(own("plain"), ['{"n":1}', '{"n":2}']);
    const first = await get(own("plain"));
    expect(first.headers.get("content-type")).toBe("text/event-stream");
    expect(first.headers.get("stream-up-to-date")).toBe("false");
    const events = await readUntil(
      first,
      (event) => event.type === "control" && controlOf(event).upToDate === true,
    );
    expect(events.map(({ type }) => type)).toEqual(["data", "control", "data", "control"]);
    expect(
      events.filter(({ type }) => type === "data").map(({ data, id }) => [JSON.parse(data), id]),
    ).toEqual([
      [{ n: 1 }, offset(1)],
      [{ n: 2 }, offset(2)],
    ]);
    expect(controlOf(events[1] ?? { data: "{}", type: "", id: "" }).streamNextOffset).toBe(offset(1));
    const resumed = await get(own("plain"), { ...auth(admin), "last-event-id": offset(1) });
    const [next] = await readUntil(resumed, ({ type }) => type === "data");
    expect(JSON.parse(next?.data ?? "")).toEqual({ n: 2 });
  });

  test("sends stored messages, then live ones, each once", async () => {
    await ownStream(own("live"), ['"before"']);
    const response = await get(`${own("live")}?offset=-1&live=sse`);
    const seen: unknown[] = [];
    for await (const event of sentEvents(response)) {
      if (event.type === "data") seen.push(...(JSON.parse(event.data) as unknown[]));
      else if (event.type === "control" && seen.length === 1) {
        for (let i = 0; i < 50; i++) broker.connection.publish(`${own("live")}.b`, String(i));
      }
      if (seen.length === 51) break;
    }
    expect(seen).toEqual(["before", ...Array.from({ length: 50 }, (_, i) => i)]);
  });

  test("sends messages of every kind as JSON on one line", async () => {
    const bodies = ["null", "42", '"x"', '{\n"a":\r\n1}', "plain text", "", "[1,2", "1,2"];
    await ownStream(own("kinds"), bodies);
    await broker.js.publish(`${own("kinds")}.a`, new Uint8Array([0xff, 0xfe]));
    const page = await get(`${own("kinds")}?offset=-1`);
    const wanted = [null, 42, "x", { a: 1 }, "plain text", null, "[1,2", "1,2", "//4="];
    expect(await page.json()).toEqual(wanted);
    const events = await get(own("kinds"));
    const seen: unknown[] = [];
    for await (const { type, data } of sentEvents(events)) {
      if (type === "data") seen.push(JSON.parse(data));
      if (seen.length === wanted.length) break;
    }
    expect(seen).toEqual(wanted);
  });

  test("pages name the next offset and support ETags", async () => {
    await ownStream(own("pages"), ["1", "2", "3"]);
    const page = await get(`${own("pages")}?offset=${offset(1)}`);
    expect(await page.json()).toEqual([2, 3]);
    expect(page.headers.get("stream-next-offset")).toBe(offset(3));
    expect(page.headers.get("stream-up-to-date")).toBe("true");
    expect(page.headers.get("cache-control")).toMatch(/^private/);
    const etag = page.headers.get("etag") ?? "";
    const again = await get(`${own("pages")}?offset=${offset(1)}`, { ...auth(admin), "if-none-match": etag });
    expect(again.status).toBe(304);
    await broker.js.publish(`${own("pages")}.a`, "4");
    const grown = await get(`${own("pages")}?offset=${offset(1)}`, { ...auth(admin), "if-none-match": etag });
    expect(await grown.json()).toEqual([2, 3, 4]);
    const head = await get(own("pages"), auth(admin), "HEAD");
    expect(head.headers.get("stream-next-offset")).toBe(offset(4));
    expect(head.headers.get("cache-control")).toBe("no-store");
    const now = await get(`${own("pages")}?offset=now`);
    expect([await now.json(), now.headers.get("etag")]).toEqual([[], null]);
  });

  test("gives a page a different ETag for each caller and filter", async () => {
    await ownStream(own("tagged"));
    const name = own("tagged");
    await map(name, name.toUpperCase(), `${name}.{userID}`);
    const [alice, bob] = await Promise.all(
      ["alice", "bob"].map((sub) => signIn(platform, { realm: "auth", sub })),
    );
    await broker.js.publish(`${name}.alice`, '"for alice"');
    await broker.js.publish(`${name}.bob`, '"for bob"');
    const page = await get(`${name}?offset=-1`, auth(alice ?? ""));
    expect(await page.json()).toEqual(["for alice"]);
    const known = { "if-none-match": page.headers.get("etag") ?? "" };
    // A browser does this if another user was signed in before.
    const others = [auth(bob ?? ""), { cookie: `session_auth=${bob}` }];
    for (const other of others) {
      const answer = await get(`${name}?offset=-1`, { ...other, ...known });
      expect([answer.status, await answer.json()]).toEqual([200, ["for bob"]]);
    }
    expect((await get(`${name}?offset=-1`, { ...auth(alice ?? ""), ...known })).status).toBe(304);
    await map(name, name.toUpperCase(), `${name}.bob`);
    const changed = await get(`${name}?offset=-1`, { ...auth(alice ?? ""), ...known });
    expect([changed.status, await changed.json()]).toEqual([200, ["for bob"]]);
  });

  test("sends Vary: Authorization, Cookie with every response", async () => {
    const known = (await get("heartbeat?offset=now")).headers.get("stream-next-offset");
    const answers = [
      await get(""),
      await get("heartbeat?offset=now"),
      await get(`heartbeat?offset=${known}`),
      await get("heartbeat?offset=now", auth(admin), "HEAD"),
      await get("nothing"),
      await get("heartbeat", {}),
      await get("heartbeat", auth(admin), "POST"),
      await get("heartbeat?offset=now", { ...auth(admin), origin: "https://app.example" }),
    ];
    const live = await get("heartbeat?offset=now&live=sse");
    await live.body?.cancel();
    for (const { headers } of [...answers, live])
      expect(headers.get("vary")?.split(", ")).toEqual(expect.arrayContaining(["Authorization", "Cookie"]));
    expect(answers.at(-1)?.headers.get("vary")?.split(", ")).toContain("Origin");
  });

  test("does not serve a deleted message again", async () => {
    await ownStream(own("removed"), ['"a"', '"secret"', '"c"']);
    expect(await (await get(`${own("removed")}?offset=-1`)).json()).toEqual(["a", "secret", "c"]);
    const manager = await broker.connection.jetstreamManager();
    await manager.streams.deleteMessage(own("removed").toUpperCase(), 2);
    expect(await (await get(`${own("removed")}?offset=-1`)).json()).toEqual(["a", "c"]);
  });

  test("advances the offset if no message matches the filter", async () => {
    await ownStream(own("quiet"), ["1"]);
    await map(own("silent"), own("quiet").toUpperCase(), `${own("quiet")}.none`);
    const page = await get(`${own("silent")}?offset=-1`);
    expect([await page.json(), page.headers.get("stream-next-offset")]).toEqual([[], offset(1)]);
  });

  test("a long-poll returns the next message, or 204 after its timeout", async () => {
    await ownStream(own("polled"), ["1"]);
    const waiting = get(`${own("polled")}?offset=now&live=long-poll`);
    setTimeout(() => broker.connection.publish(`${own("polled")}.a`, "2"), LONG_POLL_MS / 3);
    const found = await waiting;
    expect([found.status, await found.json()]).toEqual([200, [2]]);
    const next = found.headers.get("stream-next-offset");
    const cursor = found.headers.get("stream-cursor") ?? "";
    const none = await get(`${own("polled")}?offset=${next}&live=long-poll&cursor=${cursor}`);
    expect([none.status, none.headers.get("stream-next-offset")]).toEqual([204, next]);
    expect(none.headers.get("stream-up-to-date")).toBe("true");
    expect(Number(none.headers.get("stream-cursor"))).toBeGreaterThan(Number(cursor));
  });

  test.each([
    ["heartbeat?offset=", 400, "invalid_offset"],
    ["heartbeat?offset=abc", 400, "invalid_offset"],
    ["heartbeat?offset=1%2C2", 400, "invalid_offset"],
    ["heartbeat?offset=99999999999999999999", 400, "invalid_offset"],
    ["heartbeat?offset=5", 400, "invalid_offset"],
    ["heartbeat?event=news", 400, "invalid_event"],
    ["heartbeat?offset=-1&event=message", 400, "invalid_event"],
    ["heartbeat?live=sse", 400, "offset_required"],
    ["heartbeat?live=long-poll", 400, "offset_required"],
    ["heartbeat?offset=-1&live=maybe", 400, "invalid_live"],
    ["heartbeat?offset=-1&realm=a.b", 400, "invalid_realm"],
    ["nothing?offset=-1", 404, "stream_not_found"],
    ["missing?offset=-1", 404, "stream_not_found"],
    ["missing?offset=-1&live=sse", 404, "stream_not_found"],
    ["%2A?offset=-1", 404, "stream_not_found"],
    [`heartbeat?offset=${offset(10 ** 9)}`, 410, "offset_ahead"],
    [`heartbeat?offset=${offset(10 ** 9)}&live=sse`, 410, "offset_ahead"],
  ])("%s is refused", async (path, status, code) => {
    const response = await get(path, path.includes("a.b") ? {} : auth(admin));
    expect(await problemOf(response)).toEqual([status, code]);
  });

  test.each(["", "offset=-1&live=sse&"])(
    "names the events of ?%sevent=message for onmessage",
    async (query) => {
      const name = own(query === "" ? "named" : "namedarrays");
      await ownStream(name, ["1", "2"]);
      const events = await readUntil(await get(`${name}?${query}event=message`), ({ data }) =>
        data.includes('"upToDate":true'),
      );
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["message", "control"]));
    },
  );

  test("serves a public mapping of an orb without a session, and no other", async () => {
    const orb = own("open");
    const put = (name: string, body: object) =>
      fetch(`${platform.origin}/api/admin/streams/${name}`, {
        method: "PUT",
        headers: { ...auth(admin), "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const document = {
      id: orb,
      modules: [
        {
          id: "news",
          type: "CONTENT",
          schemas: [
            {
              id: "post",
              fields: [
                { name: "title", type: "string" },
                { name: "code", type: "string", sensitive: true },
              ],
            },
            { id: "memo", access: { read: "user" }, fields: [{ name: "title", type: "string" }] },
          ],
        },
      ],
    };
    const post = (path: string, body: object) =>
      fetch(`${platform.origin}${path}`, {
        method: "POST",
        headers: { ...auth(admin), "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    expect((await post("/api/admin/orbs?publish=true", document)).status).toBe(201);
    await post(`/api/${orb}/news/post?publish=true`, { values: { title: "seen", code: "secret" } });
    await post(`/api/${orb}/news/memo?publish=true`, { values: { title: "hidden" } });
    const mapping = { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>` };
    expect((await put(orb, mapping)).status).toBe(201);
    expect(await problemOf(await get(`${orb}?offset=-1`, {}))).toEqual([401, "authentication_required"]);
    expect((await put(orb, { ...mapping, read: "public" })).status).toBe(200);
    const page = await get(`${orb}?offset=-1`, {});
    const [entry, ...others] = (await page.json()) as { values: Record<string, unknown> }[];
    expect([page.status, entry?.values.title, others]).toEqual([200, "seen", []]);
    expect(JSON.stringify(entry)).not.toContain("secret");
    const live = await readUntil(await get(orb, {}), ({ type }) => type === "data");
    expect(live.at(-1)?.data).toContain("seen");
    // Other addresses stay closed, and say nothing about whether they exist.
    for (const path of ["wallet?offset=-1", "nothing?offset=-1", "heartbeat", "", "%2A"])
      expect(await problemOf(await get(path, {}))).toEqual([401, "authentication_required"]);
    expect((await get(`${orb}?offset=-1`, auth("x.y.z"))).status).toBe(401);
    for (const wrong of [
      { stream: "NEWS", subjectFilter: "news.>", read: "public" },
      { stream: "wallet", subjectFilter: "wallet.{userID}.>", read: "public" },
      { ...mapping, subjectFilter: `${orb}.*.public.{userID}.>`, read: "public" },
    ])
      expect((await put(`${orb}x`, wrong)).status).toBe(422);
    // Each address may hold as many readers as an account.
    const held = await Promise.all(Array.from({ length: 101 }, () => get(`${orb}?offset=now&live=sse`, {})));
    const statuses = held.map(({ status }) => status);
    expect([statuses.filter((s) => s === 200).length <= 100, statuses.includes(429)]).toEqual([true, true]);
    await Promise.all(held.map(({ body }) => body?.cancel()));
  });

  test("refuses a repeated offset parameter", async () => {
    expect((await get("heartbeat?offset=-1&offset=-1")).status).toBe(400);
  });

  test("answers 410 to an offset before the oldest message in every mode", async () => {
    await ownStream(own("expired"), ["1", "2", "3", "4"]);
    const manager = await broker.connection.jetstreamManager();
    await manager.streams.purge(own("expired").toUpperCase(), { seq: 4 });
    for (const live of ["", "&live=sse", "&live=long-poll"])
      expect(await problemOf(await get(`${own("expired")}?offset=${offset(1)}${live}`))).toEqual([
        410,
        "offset_expired",
      ]);
    expect(await (await get(`${own("expired")}?offset=${offset(3)}`)).json()).toEqual([4]);
    expect(await (await get(`${own("expired")}?offset=-1`)).json()).toEqual([4]);
  });

  test("starts at the oldest message while older ones are being dropped", async () => {
    await ownStream(own("moving"));
    const manager = await broker.connection.jetstreamManager();
    await manager.streams.update(own("moving").toUpperCase(), { max_msgs: 20 });
    let on = true;
    const writing = (async () => {
      for (let n = 0; on; n++) {
        broker.connection.publish(`${own("moving")}.a`, String(n));
        if (n % 20 === 0) await broker.connection.flush();
      }
    })();
    await delay(200);
    for (let n = 0; n < 6; n++) {
      for (const query of ["?offset=-1", "?offset=-1&live=long-poll"]) {
        const page = await get(`${own("moving")}${query}`);
        expect([page.status, ((await page.json()) as unknown[]).length > 0]).toEqual([200, true]);
      }
      for (const query of ["?offset=-1&live=sse", ""]) {
        const events = await readUntil(await get(`${own("moving")}${query}`), ({ type }) => type === "data");
        expect(events.length).toBeGreaterThan(0);
      }
    }
    on = false;
    await writing;
  });

  test("delivers messages whose publisher set a Nats-Sequence header", async () => {
    const arrives = async (name: string): Promise<unknown> => {
      await ownStream(name, ["1", "2", "3"]);
      // Less than the interval at which the stream is checked without a notification.
      const signal = AbortSignal.timeout(8_000);
      try {
        const url = `${bases[host]}/api/streams/${name}?offset=now&live=sse`;
        const response = await fetch(url, { headers: auth(admin), signal });
        await delay(500);
        const headers = messageHeaders();
        // A service that forwards a message it read elsewhere keeps this header.
        headers.set("Nats-Sequence", "1");
        await broker.js.publish(`${name}.a`, "4", { headers });
        const events = await readUntil(response, ({ type }) => type === "data");
        return JSON.parse(events.at(-1)?.data ?? "");
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    };
    // A busy machine may be too late for once. Without the notification, every message would be.
    let told: unknown;
    for (let n = 0; told === undefined && n < 4; n++) told = await arrives(own(`numbered-${n}`));
    expect(told).toEqual([4]);
  });

  test("refuses readers without a valid token and shows each user only their own messages", async () => {
    expect(await problemOf(await get("wallet?offset=-1", {}))).toEqual([401, "authentication_required"]);
    expect(await problemOf(await get("wallet?offset=-1", auth("x.y.z")))).toEqual([401, "invalid_token"]);
    const [alice, bob] = [`alice${host}`, `bob${host}`];
    for (const who of [alice, bob]) await broker.js.publish(`wallet.${who}.paid`, JSON.stringify({ who }));
    const realm = "auth";
    for (const who of [alice, bob]) {
      const token = await signIn(platform, { realm, sub: who });
      expect(await (await get("wallet?offset=-1", auth(token))).json()).toEqual([{ who }]);
      const cookie = { cookie: `session_auth=${token}` };
      expect(await (await get("wallet?offset=-1", cookie)).json()).toEqual([{ who }]);
      const shop = await signIn(platform, { realm: "shop", sub: who });
      const other = { cookie: `session_shop=${shop}` };
      expect((await get("wallet?offset=-1", other)).status).toBe(401);
      expect(await (await get("wallet?offset=-1&realm=shop", other)).json()).toEqual([{ who }]);
    }
  });

  test("ends the response when the token expires", async () => {
    const token = await signIn(platform, { realm: "auth", sub: "brief", ttl: 6 });
    const response = await get("heartbeat?offset=now&live=sse", auth(token));
    const events: string[] = [];
    for await (const { type } of sentEvents(response)) events.push(type);
    expect(events[0]).toBe("control");
    expect(events.at(-1)).not.toBe("data");
  });

  test("sends CORS headers to allowed origins only", async () => {
    const origin = "https://app.example";
    const allowed = await get("heartbeat?offset=-1", { ...auth(admin), origin });
    expect(allowed.headers.get("access-control-allow-origin")).toBe(origin);
    const exposed = allowed.headers.get("access-control-expose-headers")?.toLowerCase().split(", ");
    const needed = ["stream-next-offset", "stream-cursor", "stream-up-to-date", "etag", "retry-after"];
    expect(exposed).toEqual(expect.arrayContaining(needed));
    const preflight = await get("heartbeat", { origin, "access-control-request-method": "GET" }, "OPTIONS");
    expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("if-none-match");
    const foreign = await get("heartbeat?offset=-1", { ...auth(admin), origin: "https://evil.example" });
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
    for (const path of ["heartbeat?offset=-1", "heartbeat?offset=-1&x=1?ticket=2"]) {
      const nowhere = await get(path, { ...auth(admin), origin: "null" });
      expect(nowhere.headers.get("access-control-allow-origin")).toBeNull();
    }
    const none = await get("heartbeat?offset=-1", auth(admin));
    for (const { headers } of [allowed, foreign, none]) expect(headers.get("vary")).toContain("Origin");
  });

  test("answers 405 with Allow to an unsupported method", async () => {
    const response = await get("heartbeat", auth(admin), "POST");
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toContain("GET");
  });

  test("heartbeats have a sequence number and a time", async () => {
    const response = await get("heartbeat?offset=-1&live=sse");
    const events = await readUntil(response, ({ type }) => type === "data");
    const [beat] = JSON.parse(events.at(-1)?.data ?? "[]") as { seq: number; timestamp: string }[];
    expect(beat?.seq).toBeGreaterThan(1);
    expect(new Date(beat?.timestamp ?? "").toISOString()).toBe(beat?.timestamp);
  });
});

test("a slow reader catches up with stored messages and continues with live ones, on both hosts", async () => {
  const stored = 150;
  await ownStream("lengthy", Array(stored).fill(JSON.stringify("x".repeat(100_000))));
  const follow = async (host: string) => {
    const url = `${bases[host]}/api/streams/lengthy?offset=-1&live=sse`;
    const response = await fetch(url, { headers: auth(admin) });
    // Longer than an unused live subscription is kept.
    await delay(7_500);
    const seen: string[] = [];
    let caughtUp = false;
    for await (const event of sentEvents(response)) {
      if (event.type === "data") seen.push(...(JSON.parse(event.data) as string[]));
      if (seen.includes(host)) return;
      if (caughtUp || event.type !== "control" || seen.length < stored) continue;
      caughtUp = true;
      broker.connection.publish("lengthy.a", JSON.stringify(host));
    }
    throw new Error(`${host} ended the answer after ${seen.length} messages`);
  };
  await Promise.all(["functions", "process"].map(follow));
  const metrics = await fetch(`${bases.process}/api/metrics`, { headers: auth(admin) });
  expect(await metrics.text()).not.toContain('reason="broker_lost"');
});

test("150 readers that reconnect at different offsets at once all continue", async () => {
  await ownStream("crowded");
  const body = JSON.stringify("x".repeat(10_000));
  for (let n = 0; n < 600; n++) broker.connection.publish("crowded.a", body);
  await broker.connection.flush();
  const begun = await Promise.all(
    Array.from({ length: 150 }, async (_, n) => {
      const url = `${bases.process}/api/streams/crowded?offset=${offset(n + 1)}&live=sse`;
      const response = await fetch(url, { headers: auth(admin) });
      const events = await readUntil(response, ({ type }) => type === "data");
      return events.at(-1)?.type;
    }),
  );
  expect(begun.filter((type) => type === "data")).toHaveLength(150);
});

describe("both hosts respond alike", () => {
  const basic = { authorization: "Basic eDp5" };
  const crossed = { origin: "https://app.example" };
  test.each<[string, string, () => Record<string, string>, number, string?]>([
    ["GET", "%68eartbeat?offset=now", () => auth(admin), 200],
    ["GET", "heart%2Fbeat?offset=now", () => auth(admin), 404, "stream_not_found"],
    ["GET", "heart%zzbeat?offset=now", () => auth(admin), 404, "stream_not_found"],
    ["GET", "heartbeat/more", () => ({}), 404, "route_not_found"],
    ["GET", "heartbeat/", () => auth(admin), 404, "route_not_found"],
    ["GET", "heartbeat?offset=now", () => ({}), 401, "authentication_required"],
    ["GET", "heartbeat?offset=now", () => auth("x.y.z"), 401, "invalid_token"],
    ["GET", "heartbeat?offset=now", () => basic, 401, "invalid_token"],
    ["HEAD", "heartbeat", () => basic, 401],
    ["POST", "heartbeat", () => auth(admin), 405, "method_not_allowed"],
    ["DELETE", "", () => auth(admin), 405, "method_not_allowed"],
    ["POST", "heartbeat/more", () => auth(admin), 404, "route_not_found"],
    ["OPTIONS", "heartbeat", () => crossed, 405, "method_not_allowed"],
    ["OPTIONS", "heartbeat", () => ({}), 204],
    ["GET", "heartbeat?offset=-1&offset=-1", () => auth(admin), 400, "repeated_parameter"],
    ["GET", "heartbeat?offset=-1&live=sse&live=sse", () => auth(admin), 400, "repeated_parameter"],
    ["GET", "heartbeat?offset=-1&realm=a&realm=b", () => ({}), 400, "repeated_parameter"],
    ["GET", "?realm=a&realm=b", () => ({}), 400, "repeated_parameter"],
    ["GET", "?limit=1", () => auth(admin), 400, "invalid_parameter"],
    ["GET", "heartbeat?offset=-1", () => ({ ...auth(admin), "if-none-match": "*" }), 304],
  ])("to %s %j, case %#", async (method, path, headers, status, code) => {
    const [ours, theirs] = await Promise.all(
      ["functions", "process"].map(async (host) => {
        const url = `${bases[host]}/api/streams/${path}`;
        const response = await fetch(url, { method, headers: headers() });
        const told = ["content-type", "allow", "www-authenticate", "vary", "cache-control"].map((name) => [
          name,
          response.headers.get(name),
        ]);
        return { status: response.status, told, body: await response.text() };
      }),
    );
    expect(theirs).toEqual(ours);
    expect(ours?.status).toBe(status);
    if (code !== undefined) expect(JSON.parse(ours?.body ?? "")).toMatchObject({ code });
  });

  test("to credentials in quotes and to repeated credentials", async () => {
    const token = await signIn(platform, { realm: "auth", sub: "quoted" });
    const bearer = ["Authorization", `Bearer ${token}`] as const;
    const operator = ["Authorization", `Bearer ${admin}`] as const;
    const cookies = (value: string) => [["Cookie", value]] as const;
    const cases: [string, readonly (readonly [string, string])[], number][] = [
      ["streams/wallet?offset=-1", cookies(`session_auth="${token}"`), 200],
      ["streams/wallet?offset=-1", cookies(`other=1; session_auth = ${token}`), 200],
      ["streams/wallet?offset=-1", cookies(`session_auth=none; session_auth=${token}`), 401],
      ["streams/wallet?offset=-1", cookies(`session_auth="${token}`), 401],
      ["streams/wallet?offset=-1", [bearer], 200],
      ["streams/wallet?offset=-1", [bearer, bearer], 401],
      ["streams/wallet?offset=-1", [bearer, ["Authorization", "Basic eDp5"]], 401],
      ["metrics", [operator], 200],
      ["metrics", [operator, operator], 401],
    ];
    for (const [path, headers, status] of cases) {
      for (const host of ["functions", "process"]) {
        const port = Number(new URL(bases[host] ?? "").port);
        const answer = await raw(port, { method: "GET", target: `/api/${path}`, headers });
        const names = headers.map(([name, value]) => `${name}: ${value.replaceAll(token, "…").slice(0, 40)}`);
        expect([host, path, names, answer.status]).toEqual([host, path, names, status]);
      }
    }
  });
});
