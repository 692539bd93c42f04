/**
 * Random drafts and publications of one entry, compared with a model. The live revision contains only what requests
 * with `publish=true` named, and what the operation `publish` published. All other changes stay drafts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { mergePatch } from "../../shared/kernel/json.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const ORB = "publishing";
const document = {
  id: ORB,
  languages: ["en", "de"],
  markets: ["US", "EU"],
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          access: {
            read: ["public"],
            create: ["editor", "admin"],
            update: ["editor", "admin"],
            publish: ["editor", "admin"],
            delete: ["admin"],
          },
          fields: [
            { name: "a", type: "string" },
            { name: "slug", type: "string", unique: true },
            { name: "title", type: "string", translatable: true },
            { name: "price", type: "number", marketSpecific: true },
            { name: "tags", type: "string", list: true },
            { name: "data", type: "json" },
            { name: "secret", type: "string", sensitive: true },
            { name: "cost", type: "integer", access: { read: ["admin"], write: ["admin"] } },
          ],
        },
      ],
    },
  ],
};

type Values = Record<string, unknown>;

/** What is stored of an entry: its newest revision, and its live one. */
interface Stored {
  newest: Values;
  live: Values | undefined;
}

let platform: TestPlatform;
let owner: string;
let editor: string;
const base = `/api/${ORB}/pages/page`;

beforeAll(async () => {
  platform = await sharedPlatform();
  const token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  owner = (await user(platform, ORB, "owner")).token;
  editor = (await user(platform, ORB, "editor")).token;
});

async function send(method: string, path: string, body?: unknown, token = owner) {
  const answer = await call(platform, method, path, {
    token,
    ...(body === undefined ? {} : { body }),
    headers:
      body !== undefined && method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {},
  });
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

/** Values without members that are null or empty, because a cleared value may be either null or missing. */
function dense(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const some = Object.entries(value)
    .map(([name, part]) => [name, dense(part)] as const)
    .filter(([, part]) => part !== null && part !== undefined);
  return some.length === 0 ? null : Object.fromEntries(some);
}

let count = 0;

/** A random patch of one to three fields. */
function patchOf(random: Random): Values {
  const text = () => `x${++count}`;
  const some: [string, unknown][] = [
    ["a", text()],
    ["a", null],
    ["slug", text()],
    ["title", { de: text() }],
    ["title", { en: text() }],
    ["title", { de: null }],
    ["price", { EU: ++count }],
    ["price", { US: ++count, EU: null }],
    ["tags", [text(), text()]],
    ["data", { [random.pick(["p", "q"])]: ++count }],
    ["secret", text()],
    ["cost", ++count],
  ];
  return Object.fromEntries(Array.from({ length: 1 + random.below(3) }, () => random.pick(some)));
}

const applied = (values: Values | undefined, patch: Values): Values => {
  const out: Values = { ...values };
  for (const [name, value] of Object.entries(patch))
    out[name] = value === null ? null : mergePatch(out[name], value);
  return out;
};

type Step = (id: string, random: Random, state: Stored) => Promise<Stored>;

const STEPS: Record<string, Step> = {
  async "patches the draft"(id, random, { newest, live }) {
    const patch = patchOf(random);
    await send("PATCH", `${base}/${id}`, { values: patch });
    return { newest: applied(newest, patch), live };
  },
  async "publishes a patch"(id, random, { newest, live }) {
    const patch = patchOf(random);
    await send("PATCH", `${base}/${id}?publish=true`, { values: patch });
    const changed = applied(newest, patch);
    return { newest: changed, live: live === undefined ? changed : applied(live, patch) };
  },
  async "publishes a patch through the management API"(id, random, { newest, live }) {
    const patch = patchOf(random);
    const path = `/api/admin/orbs/${ORB}/entries/${id}?publish=true`;
    await send("PATCH", path, { values: patch }, await adminToken(platform));
    const changed = applied(newest, patch);
    return { newest: changed, live: live === undefined ? changed : applied(live, patch) };
  },
  async "publishes a patch of what a filter finds, and the dry run counts the same"(id, random, state) {
    const { newest, live } = state;
    const patch = random.below(3) === 0 ? { a: newest.a ?? null } : patchOf(random);
    const path = `${base}?filter[id]=${id}&publish=true`;
    const dry = await send("PATCH", `${path}&dryRun=true`, { values: patch });
    const done = await send("PATCH", path, { values: patch });
    expect([done.changed, done.unchanged, done.failed]).toEqual([dry.changed, dry.unchanged, []]);
    const changed = applied(newest, patch);
    return { newest: changed, live: live === undefined ? changed : applied(live, patch) };
  },
  async "publishes one language or market"(id, random, { newest, live }) {
    const [query, field, values] = random.pick([
      ["locale=de", "title", { title: { de: `x${++count}` } }],
      ["market=EU", "price", { price: { EU: ++count } }],
      ["locale=en&market=US", "title", { title: { en: `x${++count}` } }],
    ] as const);
    const [plain] = Object.values(Object.values(values)[0] ?? {});
    const method = random.pick(["PUT", "PATCH"]);
    await send(method, `${base}/${id}?${query}&publish=true`, { values: { [field]: plain } });
    const changed = applied(newest, values);
    return { newest: changed, live: live === undefined ? changed : applied(live, values) };
  },
  async "publishes all values"(id) {
    const values = { a: `x${++count}`, slug: `x${++count}`, title: { en: `x${++count}` } };
    await send("PUT", `${base}/${id}?publish=true`, { values });
    return { newest: values, live: values };
  },
  async "publishes a window, and no value"(id, _, { newest, live }) {
    const validTo = `20${50 + (++count % 40)}-01-01T00:00:00.000Z`;
    await send("PUT", `${base}/${id}?publish=true`, { validTo });
    expect((await send("GET", `${base}/${id}`)).validTo).toBe(validTo);
    return { newest, live: live ?? newest };
  },
  async "publishes all values of a caller who cannot see one of them"(id, _, { newest, live }) {
    const values = { a: `x${++count}`, title: { de: `x${++count}` } };
    await send("PUT", `${base}/${id}?publish=true`, { values }, editor);
    const hidden = live ?? newest;
    return { newest: { ...values, cost: newest.cost }, live: { ...values, cost: hidden.cost } };
  },
  async "publishes the draft"(id, _, { newest, live }) {
    const found = await send("GET", `${base}/${id}?revision=latest`);
    if (found.status === "PUBLISHED" && found.publishedRevision === found.revision) return { newest, live };
    await send("POST", `${base}/${id}/publish`);
    return { newest, live: newest };
  },
  async "restores a revision as a draft"(id, _, { newest, live }) {
    const { revision } = await send("GET", `${base}/${id}?revision=latest`);
    await send("POST", `${base}/${id}/revisions/${revision}/restore`);
    return { newest, live };
  },
  async unpublishes(id, random, { newest, live }) {
    if (live === undefined || random.below(3) > 0) return { newest, live };
    await send("POST", `${base}/${id}/unpublish`);
    return { newest, live: undefined };
  },
};

describe("of random steps", () => {
  test.each([1, 2])("the live revision contains only what requests named (%i)", async () => {
    const random = testRandom();
    const first = { a: `x${++count}`, slug: `x${++count}`, title: { en: "T", de: "U" }, price: { US: 1 } };
    const { id } = await send("POST", `${base}?publish=${random.pick(["true", "false"])}`, { values: first });
    const isLive = (await call(platform, "GET", `${base}/${id}`)).status === 200;
    let state: Stored = { newest: first, live: isLive ? first : undefined };
    const trail: string[] = [];
    for (let step = 0; step < rounds(40); step++) {
      const [name, run] = random.pick(Object.entries(STEPS));
      trail.push(name);
      state = await run(id, random, state);
      const newest = await send("GET", `${base}/${id}?revision=latest&locale=*&reveal=true`);
      expect(dense(newest.values), trail.join("; ")).toEqual(dense(state.newest));
      const live = await call(platform, "GET", `${base}/${id}?locale=*&reveal=true`, { token: owner });
      expect(live.status, trail.join("; ")).toBe(state.live === undefined ? 404 : 200);
      if (state.live !== undefined)
        expect(dense(live.body.values), trail.join("; ")).toEqual(dense(state.live));
      if (state.live?.slug != null) {
        const listed = await send("GET", `${base}?filter[slug]=${String(state.live.slug)}&locale=*`);
        expect(
          listed.items.map((item: { id: string }) => item.id),
          trail.join("; "),
        ).toEqual([id]);
      }
    }
    const { items } = await send("GET", `${base}/${id}/revisions?limit=200&sort=revision`);
    expect(items.map((item: { revision: number }) => item.revision)).toEqual(
      items.map((_: unknown, at: number) => at + 1),
    );
    await send("DELETE", `${base}/${id}`);
  });
});

test("a patch publishes one field, and leaves the unfinished draft of another one", async () => {
  const { id } = await send("POST", `${base}?publish=true`, { values: { a: "old", slug: "one" } });
  await send("PATCH", `${base}/${id}`, { values: { a: "UNFINISHED" } });
  const answer = await send("PATCH", `${base}?filter[slug]=one&publish=true`, { values: { slug: "two" } });
  expect(answer).toMatchObject({ changed: 1, failed: [] });
  expect((await send("GET", `${base}/${id}`)).values).toMatchObject({ a: "old", slug: "two" });
  const newest = await send("GET", `${base}/${id}?revision=latest`);
  expect(newest).toMatchObject({ revision: 4, publishedRevision: 3, status: "PUBLISHED" });
  expect(newest.values).toMatchObject({ a: "UNFINISHED", slug: "two" });
  const again = await send("PATCH", `${base}?filter[slug]=two&publish=true`, { values: { slug: "two" } });
  expect(again).toMatchObject({ changed: 0, unchanged: 1 });
  const { items } = await send("GET", `${base}/${id}/revisions`);
  expect(items.map((item: { operation: string }) => item.operation)).toEqual([
    "create",
    "update",
    "publish",
    "update",
  ]);
});

test("a body without values and times publishes the newest draft of all matches", async () => {
  const { id } = await send("POST", `${base}?publish=true`, { values: { a: "old", slug: "bulk" } });
  await send("PATCH", `${base}/${id}`, { values: { a: "finished" } });
  expect(await send("PATCH", `${base}?filter[slug]=bulk&publish=true`, {})).toMatchObject({ changed: 1 });
  expect((await send("GET", `${base}/${id}`)).values.a).toBe("finished");
});
