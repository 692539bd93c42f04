/** Live lists over HTTP, on the functions or the Node host, and on the streams process. */
import { afterEach, describe, expect, it } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { Follow } from "../support/live.ts";
import { testRandom } from "../support/random.ts";
import { readUntil, signIn } from "../support/streams.ts";

const { platform, as } = await fileAdmin({ streams: true, env: { STREAMS_ROTATE_MS: "6000" } });

interface FieldOf {
  name: string;
  type: string;
  enum?: string[];
}

const document = {
  id: "live",
  modules: [
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          fields: [
            { name: "name", type: "string" },
            { name: "color", type: "string", enum: ["red", "blue"] },
            { name: "price", type: "integer" },
          ] as FieldOf[],
        },
        { id: "many", fields: [{ name: "name", type: "string" }] as FieldOf[] },
        { id: "note", access: { read: ["admin"] }, fields: [{ name: "name", type: "string" }] },
      ],
    },
  ],
};
expect((await as("POST", "/api/admin/orbs?publish=true", document)).status).toBe(201);

const ITEMS = "/api/live/shop/item";
const HOSTS = ["API", "streams process"] as const;
const originOf = (host: (typeof HOSTS)[number]) =>
  host === "API" ? platform.origin : (platform.streamsUrl ?? "");

const open: Follow[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((follow) => follow.stop()));
});

function follow(host: (typeof HOSTS)[number], query: string, token?: string, path = ITEMS): Follow {
  const made = new Follow(`${path}?${query}${query === "" ? "" : "&"}live=sse`, {
    token,
    origin: () => originOf(host),
  });
  open.push(made);
  return made;
}

let color = 0;
/** A filter that no other test uses. */
const prefix = () => `t${++color}-`;

async function create(values: Record<string, unknown>, more: object = {}): Promise<string> {
  const { status, body } = await as("POST", `${ITEMS}?publish=true`, { values, ...more });
  expect(status).toBe(201);
  return body.id;
}

async function change(id: string, values: Record<string, unknown>, publish = true): Promise<void> {
  const { body } = await as("GET", `${ITEMS}/${id}`);
  const changed = { values: { ...body.values, ...values } };
  expect((await as("PUT", `${ITEMS}/${id}?publish=${publish}`, changed)).status).toBe(200);
}

/** Creates entries of a schema. Returns their ids in order. */
async function createMany(schema: string, names: readonly string[]): Promise<string[]> {
  const lines = names.map((name) => JSON.stringify({ module: "shop", schema, values: { name } }));
  const response = await fetch(`${platform.origin}/api/admin/orbs/live/entries/bulk?publish=true`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await adminToken(platform)}`,
      "content-type": "application/x-ndjson",
    },
    body: lines.join("\n"),
  });
  const answers = (await response.text()).trim().split("\n");
  return answers.map((line) => JSON.parse(line).id).filter((id) => id !== undefined);
}

describe.each(HOSTS)("live lists of the %s", (host) => {
  it("begins with all entries that match, then reports each change once", async () => {
    const p = prefix();
    const one = await create({ name: `${p}one`, color: "red", price: 3 });
    await create({ name: `${p}blue`, color: "blue", price: 1 });
    const list = follow(host, `filter[name][startsWith]=${p}&filter[color]=red&sort=-price`);
    await list.until(({ ready }) => ready);
    expect(list.names).toEqual([`${p}one`]);
    expect(list.items.get(one)?.rank).toEqual([3]);

    const two = await create({ name: `${p}two`, color: "red", price: 5 });
    await list.until(({ items }) => items.size === 2);
    await change(one, { price: 4 }, false);
    await change(one, { price: 7 });
    await list.until(({ items }) => items.get(one)?.values.price === 7);
    await change(two, { color: "blue" });
    await list.until(({ items }) => items.size === 1);
    await as("POST", `${ITEMS}/${one}/unpublish`);
    await list.until(({ items }) => items.size === 0);
    expect(list.events.map(({ type }) => type)).toEqual([
      ...["reset", "upsert", "ready", "upsert", "upsert", "leave", "leave"],
    ]);
  });

  it("resumes after a lost connection without a gap or a repeat", async () => {
    const p = prefix();
    const one = await create({ name: `${p}one` });
    const two = await create({ name: `${p}two` });
    const list = await follow(host, `filter[name][startsWith]=${p}`).until(({ ready }) => ready);
    list.cut();
    await Promise.all([as("DELETE", `${ITEMS}/${one}`), change(two, { price: 1 })]);
    const late = await create({ name: `${p}late` });
    await as("POST", `${ITEMS}/${late}/unpublish`);
    await create({ name: `${p}last` });
    await list.until(({ names, ready }) => ready && names.includes(`${p}last`));
    expect(list.names).toEqual([`${p}last`, `${p}two`]);
    expect(list.resets).toBe(1);
    expect(list.events.filter(({ data }) => data.includes(two))).toHaveLength(2);
  });

  it("reports no change of entries that were never in the list", async () => {
    const p = prefix();
    const list = await follow(host, `filter[name][startsWith]=${p}`).until(({ ready }) => ready);
    const draft = await as("POST", ITEMS, { values: { name: `${p}draft` } });
    await as("DELETE", `${ITEMS}/${draft.body.id}`);
    const other = await create({ name: "other" });
    await change(other, { name: "others" });
    await as("DELETE", `${ITEMS}/${other}`);
    await create({ name: `${p}end` });
    await list.until(({ items }) => items.size === 1);
    expect(list.events.map(({ type }) => type)).toEqual(["reset", "ready", "upsert"]);
  });

  it("sends a new snapshot for an event id that is not from this list", async () => {
    const p = prefix();
    const gone = await create({ name: `${p}gone` });
    const list = await follow(host, `filter[name][startsWith]=${p}`).until(({ ready }) => ready);
    const before = list.lastId;
    const [seq = "", time = "", mac = ""] = before.split("-");
    await as("POST", `${ITEMS}/${gone}/unpublish`);
    const events = async (id: string, query = `filter[name][startsWith]=${p}`) => {
      const path = `${originOf(host)}${ITEMS}?${query}&live=sse`;
      const response = await fetch(path, { headers: { "last-event-id": id } });
      return (await readUntil(response, ({ type }) => type === "ready")).map(({ type }) => type);
    };
    expect(await events(before)).toEqual(["message", "leave", "ready"]);
    expect(await events(`${Number(seq) - 1}-${time}-${mac}`)).toContain("reset");
    expect(await events("nonsense")).toContain("reset");
    expect(await events(list.lastId, "filter[name][startsWith]=x")).toContain("reset");
  });

  it("reports entries that become valid or expire, and purged ones", async () => {
    const p = prefix();
    const list = await follow(host, `filter[name][startsWith]=${p}`).until(({ ready }) => ready);
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    await create({ name: `${p}opens` }, { validFrom: at(600) });
    await list.until(({ items }) => items.size === 1);
    await create({ name: `${p}closes` }, { validTo: at(3_000) });
    await list.until(({ items }) => items.size === 2);
    await list.until(({ items }) => items.size === 1);
    expect(list.names).toEqual([`${p}opens`]);

    const token = await adminToken(platform);
    const drafts = await follow(host, `filter[name][startsWith]=${p}&revision=latest`, token).until(
      ({ ready }) => ready,
    );
    expect(drafts.names).toEqual([`${p}closes`, `${p}opens`]);
    const draft = await as("POST", ITEMS, { values: { name: `${p}draft` } });
    await drafts.until(({ items }) => items.size === 3);
    drafts.cut();
    const purged = await as("DELETE", `/api/admin/orbs/live/entries/${draft.body.id}?purge=true`);
    expect(purged.status).toBe(204);
    // If the reader connects again before the purge, the entry leaves the list. Otherwise the list begins again.
    await drafts.until(({ items, ready }) => items.size === 2 && ready);
    expect(drafts.names).toEqual([`${p}closes`, `${p}opens`]);
  });

  it("ends when the session ends or the definition changes", async () => {
    const p = prefix();
    const token = await signIn(platform, { sub: `admin-${p}` });
    const list = await follow(host, "", token, "/api/live/shop/note").until(({ ready }) => ready);
    const [name] = await Promise.all([
      create({ name: `${p}one` }),
      call(platform, "POST", "/api/_auth/signout", { token }),
    ]);
    expect(name).not.toBe("");
    await list.until(({ refused }) => refused.length > 0);
    expect(list.refused[0]).toBe(401);
    expect(list.events.at(-1)?.data).toBe('{"reason":"access_changed"}');

    const items = await follow(host, `filter[name][startsWith]=${p}`).until(({ ready }) => ready);
    const [item] = document.modules[0]?.schemas ?? [];
    item?.fields.push({ name: p.slice(0, -1), type: "string" });
    expect((await as("PUT", "/api/admin/orbs/live?publish=true", document)).status).toBe(200);
    await create({ name: `${p}two` });
    await items.until(({ resets, ready }) => resets === 2 && ready);
    expect(items.names).toEqual([`${p}one`, `${p}two`]);
  });

  it("refuses callers who may not read, and parameters of pages", async () => {
    const get = async (path: string, init?: RequestInit) => {
      const response = await fetch(`${originOf(host)}${path}`, init);
      return { status: response.status, text: await response.text() };
    };
    expect((await get("/api/live/shop/note?live=sse")).status).toBe(401);
    expect((await get(`${ITEMS}?live=all`)).status).toBe(400);
    const paged = await get(`${ITEMS}?live=sse&limit=5&count=true`);
    expect(paged.status).toBe(400);
    expect(paged.text).toContain("/limit");
    expect(paged.text).toContain("/count");
    expect((await get("/api/live/shop/none?live=sse")).status).toBe(404);
    expect((await get(`${ITEMS}?live=sse`, { method: "HEAD" })).status).toBe(200);
  });
});

it("follows a list of more entries than followers share", async () => {
  // Both hosts share the code of long lists. The next run may try the other.
  const host = testRandom().pick(HOSTS);
  const path = "/api/live/shop/many";
  const names = Array.from({ length: 10_700 }, (_, n) => `n${n}`);
  const ids = await createMany("many", names);
  expect(ids.length).toBe(10_700);
  const list = follow(host, "", undefined, path);
  await list.until(({ items }) => items.size > 0);
  // Both are read after the shared part, so the changes happen before or after the follower reads them.
  const [changed = "", deleted = ""] = ids.slice(-2);
  const name = `renamed beside the ${host}`;
  const renamed = as("PUT", `${path}/${changed}?publish=true`, { values: { name } });
  const removed = as("DELETE", `${path}/${deleted}`);
  expect([(await renamed).status, (await removed).status]).toEqual([200, 204]);
  await list.until(({ ready, items }) => ready && items.size === 10_699);
  await list.until(({ items }) => items.get(changed)?.values.name === name);
  expect([...list.items.keys()]).toEqual(ids.slice(0, -1));
  expect(list.resets).toBe(1);
  list.cut();
  await list.until(({ ready }) => !ready);
  const late = await createMany("many", ["late"]);
  await list.until(({ ready, items }) => ready && items.has(late[0] ?? ""));
  expect(list.resets).toBe(1);
});
