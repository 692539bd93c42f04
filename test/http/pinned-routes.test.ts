/** Callers that name an earlier revision: batches, change sets, many entries, sums, aggregates, revisions and files. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call as request } from "../support/auth.ts";
import { FIRST, SECOND, VALUES } from "../support/pinned-orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { rounds, testRandom } from "../support/random.ts";

const ORB = "pinned-routes";
const OLD = `/api/${ORB}/catalog/product`;
const NEW = `/api/${ORB}/goods/article`;
let platform: TestPlatform;
let token: string;
let revision: number;

type Values = Record<string, unknown>;
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  request(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
const old = (method: string, path: string, body?: unknown) =>
  send(method, path, body, { "orb-definition": String(revision) });

async function ok(answer: ReturnType<typeof send>) {
  const found = await answer;
  expect(found.status, JSON.stringify(found.body)).toBeLessThan(300);
  return found.body;
}

const now = async (id: string): Promise<Values> =>
  (await ok(send("GET", `${NEW}/${id}?locale=*&revision=latest`))).values;
const shown = async (id: string): Promise<Values> =>
  (await ok(old("GET", `${OLD}/${id}?locale=*&revision=latest`))).values;
const make = async (values: Values, publish = true): Promise<string> =>
  (await ok(old("POST", `${OLD}${publish ? "?publish=true" : ""}`, { values }))).id;
const { sku: _, ...PLAIN } = VALUES;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const publish = async (method: string, path: string, document: object) =>
    (await ok(send(method, `${path}?publish=true`, { id: ORB, ...document }))).revision as number;
  revision = await publish("POST", "/api/admin/orbs", FIRST(ORB));
  // A change of type converts values only if there are entries.
  await ok(send("POST", OLD, { values: { title: "First" } }));
  await publish("PUT", `/api/admin/orbs/${ORB}`, SECOND(ORB));
});

describe("a batch in an earlier shape", () => {
  const batch = (items: object[], query = "") => old("POST", `/api/${ORB}/batch${query}`, { do: items });

  test("creates, changes and deletes entries by the earlier names", async () => {
    const [changed, gone] = [await make(PLAIN), await make(PLAIN)];
    const { items } = await ok(
      batch([
        {
          create: "catalog/product",
          as: "new",
          values: { title: "New", tag: "pine", count: 2 },
          publish: true,
        },
        {
          update: `catalog/product/${changed}`,
          values: { title: "Changed", like: { $ref: "new" } },
          publish: true,
        },
        { delete: `catalog/product/${gone}` },
      ]),
    );
    for (const item of items) expect(item).toMatchObject({ module: "catalog", schema: "product" });
    const [{ id }] = items;
    expect(await now(id)).toMatchObject({ headline: { en: "New" }, tags: ["pine"], count: "2.00" });
    expect(await now(changed)).toMatchObject({
      headline: { en: "Changed" },
      similar: id,
      seo: { summary: "A chair" },
    });
    expect((await send("GET", `${NEW}/${gone}`)).status).toBe(404);
  });

  test("evaluates conditions and sums over what the earlier shape shows", async () => {
    const id = await make({ title: "Stock", count: 3, tag: "oak" });
    const item = { update: `catalog/product/${id}`, add: { count: -2 } };
    const when = (tag: string) => ({
      and: [{ "==": [{ var: "values.tag" }, tag] }, { ">": [{ var: "values.count" }, 2] }],
    });
    expect(await batch([{ ...item, if: when("pine") }])).toMatchObject({ status: 412 });
    await ok(batch([{ ...item, if: when("oak") }]));
    expect((await shown(id)).count).toBe(1);
    expect(await batch([{ ...item, if: when("oak") }])).toMatchObject({
      status: 412,
      body: { code: "condition_failed", item: 0 },
    });
    expect(await batch([{ delete: `catalog/product/${id}`, if: when("oak") }])).toMatchObject({
      status: 412,
    });
    await ok(batch([{ delete: `catalog/product/${id}`, if: { "==": [{ var: "values.title" }, "Stock"] } }]));
  });

  test("names faults as the earlier revision does, and writes nothing", async () => {
    const id = await make(PLAIN);
    const answer = await batch([
      { update: `catalog/product/${id}`, values: { title: "X" } },
      { create: "catalog/product", values: { tag: "x" } },
      { create: "catalog/product", values: { title: "Y", headline: "y" } },
    ]);
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map(({ path }: { path: string }) => path)).toContain("/do/1/values/title");
    expect((await shown(id)).title).toBe("Chair");
    const twice = await batch(
      ["a", "b"].map((title) => ({ create: "catalog/product", values: { title, sku: "same" } })),
    );
    expect(twice.body.errors).toMatchObject([{ path: "/do/1/values/sku" }]);
    expect((await batch([{ create: "goods/article", values: {} }])).body.errors).toMatchObject([
      { path: "/do/0/create" },
    ]);
    const live = await ok(send("POST", NEW, { values: { headline: { en: "T" }, tags: ["a", "b"] } }));
    expect(await batch([{ update: `catalog/product/${live.id}`, values: { tag: "c" } }])).toMatchObject({
      status: 409,
      body: { code: "shape_conflict", errors: [{ path: "/do/0/values/tag", code: "hidden_part" }] },
    });
  });
});

test("a change set takes writes in an earlier shape, and shows them in it", async () => {
  const id = await make({ ...PLAIN, sku: "set-1" });
  const set = (await ok(send("POST", `/api/${ORB}/changes`, { title: "Pinned" }))).id;
  const within = `change=${set}`;
  await ok(old("PATCH", `${OLD}/${id}?${within}`, { values: { title: "In the set", tag: "elm" } }));
  await ok(old("PATCH", `${OLD}/by/sku/set-1?${within}`, { values: { blurb: "By key" } }));
  const made = (await ok(old("POST", `${OLD}?${within}`, { values: { title: "New in the set" } }))).id;
  await ok(
    old("POST", `/api/${ORB}/batch?${within}`, {
      do: [{ update: `catalog/product/${id}`, values: { count: 9 } }],
    }),
  );
  const pending = { title: "In the set", tag: "elm", blurb: "By key", count: 9 };
  expect((await ok(old("GET", `${OLD}/${id}?${within}`))).values).toMatchObject(pending);
  const list = await ok(old("GET", `${OLD}?${within}&filter[sku]=set-1`));
  expect(list.items).toMatchObject([{ id, values: pending }]);
  expect(await shown(id)).toMatchObject({ title: "Chair" });
  await ok(send("POST", `/api/${ORB}/changes/${set}/publish`, {}));
  expect(await now(id)).toMatchObject({
    headline: { en: "In the set" },
    tags: ["elm"],
    seo: { summary: "By key" },
    count: "9.00",
  });
  expect(await now(made)).toMatchObject({ headline: { en: "New in the set" } });
});

test("many entries change and go by filters of an earlier shape", async () => {
  const ids = [await make({ ...PLAIN, sku: "many-1" }), await make({ ...PLAIN, sku: "many-2" })];
  const filter = "filter[sku][in]=many-1,many-2";
  const dry = await ok(old("PATCH", `${OLD}?${filter}&dryRun=true`, { values: { tag: "ash" } }));
  expect(dry).toMatchObject({ changed: 2, dryRun: true });
  expect(await ok(old("PATCH", `${OLD}?${filter}&publish=true`, { values: { tag: "ash" } }))).toMatchObject({
    changed: 2,
    failed: [],
  });
  for (const id of ids) expect(await now(id)).toMatchObject({ tags: ["ash"] });
  const failing = await ok(old("PATCH", `${OLD}?${filter}`, { values: { title: 5 } }));
  for (const { errors } of failing.failed) expect(errors).toMatchObject([{ path: "/values/title" }]);
  expect(failing.failed).toHaveLength(2);
  expect(await ok(old("DELETE", `${OLD}?${filter}`))).toMatchObject({ changed: 2 });
});

test("sums are made of what an earlier shape shows, and lose nothing", async () => {
  const id = await make({ title: "Sum", count: 3 });
  const answer = await ok(
    old("PATCH", `${OLD}/${id}?publish=true`, { add: { count: 4 }, values: { tag: "x" } }),
  );
  expect(answer.values).toMatchObject({ count: 7, tag: "x", title: "Sum" });
  expect(await now(id)).toMatchObject({ count: "7.00", tags: ["x"], headline: { en: "Sum" } });
  await ok(send("PATCH", `${NEW}/${id}`, { values: { count: "1.50" } }));
  // The earlier shape has no value like 1.50.
  expect(await old("PATCH", `${OLD}/${id}`, { add: { count: 1 } })).toMatchObject({
    status: 409,
    body: { code: "shape_conflict", errors: [{ path: "/add/count", code: "hidden_part" }] },
  });
  expect(await old("PATCH", `${OLD}/${id}`, { add: { number: 1 } })).toMatchObject({
    status: 422,
    body: { errors: [{ path: "/add/number", code: "unknown_property" }] },
  });
  expect((await now(id)).count).toBe("1.50");
});

test("aggregates have the earlier names, and only fields that mean the same", async () => {
  const target = await make({ title: "Target" });
  for (const title of ["A", "B"]) await make({ title, like: target });
  const groups = await ok(old("GET", `${OLD}?filter[like]=${target}&group=like&aggregate[n]=count`));
  expect(groups.groups).toEqual([{ key: { like: target }, values: { n: 2 } }]);
  const changed = await old("GET", `${OLD}?aggregate[s]=sum(count)`);
  expect(changed).toMatchObject({ status: 400 });
});

test("revisions have the earlier shape, and can be restored", async () => {
  const id = await make(PLAIN);
  await ok(old("PATCH", `${OLD}/${id}`, { values: { title: "Second", blurb: "Other words" } }));
  const list = await ok(old("GET", `${OLD}/${id}/revisions`));
  expect(list.items).toHaveLength(2);
  const first = await ok(old("GET", `${OLD}/${id}/revisions/1`));
  expect(first).toMatchObject({
    module: "catalog",
    schema: "product",
    values: { title: "Chair", tag: "oak" },
  });
  expect(first.values).not.toHaveProperty("headline");
  const compared = await ok(old("GET", `${OLD}/${id}/revisions/2?against=1`));
  expect(compared.patch.map(({ path }: { path: string }) => path).sort()).toEqual([
    "/values/blurb",
    "/values/title",
  ]);
  const restored = await ok(old("POST", `${OLD}/${id}/revisions/1/restore`));
  expect(restored.values).toMatchObject({ title: "Chair", blurb: "A chair" });
  expect(await now(id)).toMatchObject({ headline: { en: "Chair" }, seo: { summary: "A chair" } });
});

test("every route writes the same values, and refuses the same", async () => {
  const { below: draw, pick } = testRandom();
  const change = (): Values => {
    const all: Values = {
      title: pick<unknown>(["T", "U", 5]),
      count: pick<unknown>([1, 2, 2.5, null]),
      tag: pick(["x", "y", null]),
      blurb: pick(["b", null]),
      sections: pick<unknown>([[{ _type: "quote", _key: "q1", text: "t" }], [], null]),
      headline: "no field of this shape",
    };
    const names = Object.keys(all).filter((name) => draw(name === "headline" ? 12 : 3) === 0);
    return Object.fromEntries(names.map((name) => [name, all[name]]));
  };
  const live = (): Values => ({
    ...(draw(2) === 0 ? { tags: pick<unknown>([["a"], ["a", "b"], null]) } : {}),
    ...(draw(2) === 0 ? { headline: { de: pick(["D", "E"]) } } : {}),
    ...(draw(3) === 0 ? { count: pick(["1.50", "4.00"]) } : {}),
    ...(draw(3) === 0 ? { seo: { robots: "none" } } : {}),
  });
  const routes: ((id: string, values: Values) => Promise<string>)[] = [
    async (id, values) => {
      const answer = await old("POST", `/api/${ORB}/batch`, {
        do: [{ update: `catalog/product/${id}`, values }],
      });
      return answer.body.code ?? "written";
    },
    async (id, values) => {
      const answer = await old("PATCH", `${OLD}?filter[id]=${id}`, { values });
      return answer.body.failed?.[0]?.code ?? answer.body.code ?? "written";
    },
    async (id, values) => {
      const set = (await ok(send("POST", `/api/${ORB}/changes`, { title: "Model" }))).id;
      const answer = await old("PATCH", `${OLD}/${id}?change=${set}`, { values });
      if (answer.status >= 300) return answer.body.code;
      await ok(send("POST", `/api/${ORB}/changes/${set}/publish`, {}));
      return "written";
    },
  ];
  for (let round = 0; round < rounds(5); round++) {
    const [one, other] = [await make(PLAIN), await make(PLAIN)];
    for (let step = 0; step < 4; step++) {
      const [between, values, route] = [live(), change(), pick(routes)];
      for (const id of [one, other])
        if (Object.keys(between).length > 0)
          await ok(send("PATCH", `${NEW}/${id}?publish=true`, { values: between }));
      const answer = await old("PATCH", `${OLD}/${one}`, { values });
      const told = await route(other, values);
      for (const id of [one, other]) {
        const { status, body } = await old("POST", `${OLD}/${id}/publish`);
        if (status !== 200) expect(body.code).toBe("wrong_state");
      }
      expect(told, JSON.stringify(values)).toBe(answer.body.code ?? "written");
      expect(await now(other), JSON.stringify({ between, values })).toEqual(await now(one));
      expect(await shown(other)).toEqual(await shown(one));
    }
  }
});
