/** Live lists of callers that name an earlier revision: each event has its shape, also after the next publication. */
import { afterEach, beforeAll, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { Follow } from "../support/live.ts";
import { FIRST, SECOND, VALUES } from "../support/pinned-orbs.ts";
import { createToken, scope } from "../support/tokens.ts";

const ORB = "pinned-live";
const OLD = `/api/${ORB}/catalog/product`;
const NEW = `/api/${ORB}/goods/article`;
const { platform, as } = await fileAdmin({ streams: true });

async function ok(method: string, path: string, body?: unknown) {
  const found = await as(method, path, body);
  expect(found.status, JSON.stringify(found.body)).toBeLessThan(300);
  return found.body;
}

const publish = async (method: "POST" | "PUT", document: object): Promise<number> => {
  const path = method === "POST" ? "/api/admin/orbs" : `/api/admin/orbs/${ORB}`;
  return (await ok(method, `${path}?publish=true`, { id: ORB, ...document })).revision;
};

const HOSTS = { API: () => platform.origin, "streams process": () => platform.streamsUrl ?? "" };
let revision: number;
beforeAll(async () => {
  revision = await publish("POST", FIRST(ORB));
  await ok("POST", OLD, { values: { title: "First" } });
  await publish("PUT", SECOND(ORB));
});

const open: Follow[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((follow) => follow.stop()));
});

function follow(path: string, origin: () => string, more: { token?: string; pinned?: boolean } = {}): Follow {
  const headers: Record<string, string> = more.pinned === false ? {} : { "orb-definition": String(revision) };
  const made = new Follow(path, { origin, headers, token: more.token });
  open.push(made);
  return made;
}

let made = 0;
const create = async (sku: string, more: object = {}): Promise<string> => {
  const values = { headline: { en: `T ${++made}` }, number: sku, tags: ["oak", "elm"], ...more };
  return (await ok("POST", `${NEW}?publish=true`, { values })).id;
};

for (const [host, origin] of Object.entries(HOSTS)) {
  test(`${host}: sends entries and changes in the earlier shape`, async () => {
    const sku = `l-${host.length}`;
    const id = await create(sku, { count: "3.00", seo: { summary: "Words", robots: "none" } });
    const list = await follow(`${OLD}?live=sse&filter[sku]=${sku}&sort=-sku`, origin).until(
      ({ ready }) => ready,
    );
    const item = list.items.get(id);
    expect(item).toMatchObject({ module: "catalog", schema: "product", rank: [sku] });
    expect(item?.values).toMatchObject({ sku, tag: "oak", count: 3, blurb: "Words" });
    expect(item?.values).not.toHaveProperty("seo");
    await ok("PATCH", `${NEW}/${id}?publish=true`, { values: { tags: ["ash"], count: "1.50" } });
    await list.until(({ items }) => items.get(id)?.values.tag === "ash");
    expect(list.items.get(id)?.values).not.toHaveProperty("tags");
    // The earlier type has no value like 1.50.
    expect(list.items.get(id)?.values.count ?? null).toBeNull();
    // A client resumes in its shape.
    const { resets } = list;
    list.cut();
    await ok("PATCH", `${NEW}/${id}?publish=true`, { values: { tags: ["fir"] } });
    await list.until(({ items }) => items.get(id)?.values.tag === "fir");
    expect(list.resets).toBe(resets);
    await ok("PATCH", `${NEW}/${id}?publish=true`, { values: { number: `${sku}-other` } });
    await list.until(({ items }) => items.size === 0);
    expect(list.refused).toEqual([]);
  });
}

test("a position of one shape is none of the other", async () => {
  const id = await create("position");
  const list = await follow(`${OLD}?live=sse&filter[sku]=position`, HOSTS.API).until(({ ready }) => ready);
  const other = follow(`${NEW}?live=sse&filter[number]=position`, HOSTS.API, { pinned: false });
  other.lastId = list.lastId;
  await other.until(({ ready }) => ready);
  expect(other.resets).toBe(1);
  expect(other.items.get(id)?.values).toMatchObject({ headline: expect.anything(), tags: ["oak", "elm"] });
});

test("keeps its shape across the publication of a definition", async () => {
  const id = await create("kept");
  const both = [
    follow(`${OLD}?live=sse&filter[sku]=kept`, HOSTS.API),
    follow(`${OLD}?live=sse&filter[sku]=kept`, HOSTS["streams process"]),
  ];
  for (const list of both) await list.until(({ ready }) => ready);
  const document = SECOND(ORB);
  const [module] = document.modules;
  const renamed = module?.schemas.map((schema) => ({
    ...schema,
    fields: schema.fields.map((field) =>
      field.name === "tags" ? { ...field, name: "labels", was: "tags" } : field,
    ),
  }));
  await publish("PUT", { ...document, modules: [{ ...module, schemas: renamed }] });
  await ok("PATCH", `${NEW}/${id}?publish=true`, { values: { labels: ["later"] } });
  for (const list of both) {
    await list.until(({ items }) => items.get(id)?.values.tag === "later");
    expect(list.items.get(id)).toMatchObject({ module: "catalog", values: { sku: "kept" } });
    expect(list.items.get(id)?.values).not.toHaveProperty("labels");
    expect(list.refused).toEqual([]);
  }
  await publish("PUT", document);
});

test("a change set, and an API token for the revision", async () => {
  const admin = await adminToken(platform);
  const { token } = await createToken(
    platform,
    "/api/_auth",
    admin,
    [scope(ORB, "read", "write", "manage")],
    {
      definition: revision,
    },
  );
  const id = await create("set", { seo: { summary: VALUES.blurb } });
  const set = (await ok("POST", `/api/${ORB}/changes`, { title: "Live" })).id;
  for (const origin of Object.values(HOSTS)) {
    const list = await follow(`${OLD}?live=sse&filter[sku]=set&change=${set}`, origin, {
      token,
      pinned: false,
    }).until(({ ready }) => ready);
    expect(list.items.get(id)?.values).toMatchObject({ sku: "set", blurb: VALUES.blurb });
    const tag = `in the set ${open.length}`;
    await ok("PATCH", `${NEW}/${id}?change=${set}`, { values: { tags: [tag] } });
    await list.until(({ items }) => items.get(id)?.values.tag === tag);
    expect(list.refused).toEqual([]);
  }
});

test("refuses the names of another shape, and a revision that was never published", async () => {
  const at = (header: string) => ({ headers: { "orb-definition": header } });
  for (const origin of Object.values(HOSTS)) {
    const wrong = await fetch(`${origin()}${OLD}?live=sse&filter[number]=1`, at(String(revision)));
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({ errors: [{ path: "/filter[number]" }] });
    const never = await fetch(`${origin()}${OLD}?live=sse`, at("999"));
    expect(never.status).toBe(404);
    expect(await never.json()).toMatchObject({ code: "definition_revision_not_found" });
    const now = await fetch(`${origin()}${NEW}?live=sse`, at(String(revision)));
    expect(now.status).toBe(404);
    await now.body?.cancel();
    const plain = await fetch(`${origin()}${NEW}?live=sse&definition=1`);
    expect(plain.status).toBe(400);
    await plain.body?.cancel();
  }
});
