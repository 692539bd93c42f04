/**
 * Values that were stored in plain text before their field became sensitive: the API masks them wherever it shows the
 * entry.
 */

import { beforeAll, expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { MASK } from "../../shared/definition/document/text.ts";
import { type EntryAddress, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { adminToken, register, call as request, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const ORB = "masked";
const PLAIN = "plain words";
const NOTE = { name: "note", type: "string", sensitive: true };
let platform: TestPlatform;
let store: Store;
let token: string;
let member: SignedIn;
beforeAll(async () => {
  platform = await sharedPlatform();
  store = platform.operatorStore();
  token = await adminToken(platform);
  member = await user(platform);
  const document = {
    id: ORB,
    languages: ["en", "de"],
    markets: ["CH", "AT"],
    uses: [
      { service: "transactions", handlers: ["record", "list"] },
      { service: "settings", handlers: ["get", "set"] },
    ],
    modules: [
      ...(["TRANSACTIONS", "SETTINGS"] as const).map((type) => ({
        id: type.toLowerCase(),
        type,
        schemas: [{ id: type.toLowerCase(), access: { read: "user" }, fields: [NOTE] }],
      })),
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "article",
            fields: [
              { name: "title", type: "string" },
              NOTE,
              { name: "text", type: "string", sensitive: true, translatable: true, marketSpecific: true },
            ],
          },
          { id: "quote", fields: [{ name: "article", type: "reference", ref: `${ORB}/news/article` }] },
        ],
      },
    ],
  };
  await managed("POST", "/orbs?publish=true", document);
});

const call = (method: string, path: string, body?: unknown, as?: string) =>
  request(platform, method, path, {
    ...(as === undefined ? {} : { token: as }),
    ...(body === undefined ? {} : { body }),
  });
async function managed(method: string, path: string, body?: unknown) {
  const answer = await call(method, `/api/admin${path}`, body, token);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

const open = { title: "a", note: PLAIN, text: { CH: { en: PLAIN, fr: PLAIN }, DE: { en: PLAIN } } };
const masked = { title: "a", note: MASK, text: { CH: { en: MASK } } };

/** An entry as it was stored before its fields became sensitive, in the log and in the live copy. */
async function storedOpen(): Promise<string> {
  const made = await managed("POST", `/orbs/${ORB}/entries?publish=true`, {
    module: "news",
    schema: "article",
    values: { title: "a", note: "x", text: { CH: { en: "x" } } },
  });
  const address: EntryAddress = { orb: ORB, ...homeOf("CONTENT", "article"), id: made.id };
  for (const subject of [subjects.entryLog(address), subjects.entryLive(address, "public")]) {
    const message = await store.get(streams.orb(ORB), subject);
    const body = { ...message?.json<object>(), revision: 2, publishedRevision: 2, values: open };
    await store.append(streams.orb(ORB), { subject, data: JSON.stringify(body) });
  }
  return made.id;
}
const headOf = async (id: string) => {
  const subject = subjects.entryLog({ orb: ORB, ...homeOf("CONTENT", "article"), id });
  return (await store.get(streams.orb(ORB), subject))?.json<{ values: Record<string, unknown> }>().values;
};

/**
 * Reads the entry through every route.
 * @returns the values by path
 */
async function everywhere(id: string): Promise<Map<string, unknown>> {
  const runtime = `/api/${ORB}/news/article`;
  const admin = `/api/admin/orbs/${ORB}/entries`;
  const at = `at=${encodeURIComponent(new Date().toISOString())}`;
  const found = new Map<string, unknown>();
  const paths: [string, string | undefined][] = [
    [`${runtime}/${id}?locale=*`, undefined],
    [`${runtime}/${id}?revision=latest&locale=*`, token],
    [`${runtime}?locale=*&filter[title]=a&sort=-title`, undefined],
    [`${runtime}?locale=*&revision=latest`, token],
    [`${admin}/${id}`, token],
    [`${admin}/${id}?revision=published`, token],
    [`${admin}/${id}?${at}`, token],
    [`${admin}?module=news&schema=article&filter[title]=a&sort=title`, token],
    [`${admin}?${at}&module=news&schema=article`, token],
    [`${admin}/${id}/revisions/2`, token],
  ];
  for (const [path, as] of paths) {
    const { status, body } = await call("GET", path, undefined, as);
    expect(status, `${path} ${JSON.stringify(body)}`).toBe(200);
    expect(JSON.stringify(body), path).not.toContain(PLAIN);
    found.set(path, (body.items?.find((item: { id: string }) => item.id === id) ?? body).values);
  }
  return found;
}

test("masks plain values in both APIs, in lists, in revisions and in expanded references", async () => {
  const id = await storedOpen();
  for (const [path, values] of await everywhere(id)) expect(values, path).toEqual(masked);
  const one = await call("GET", `/api/${ORB}/news/article/${id}`);
  expect(one.body.values).toEqual({ title: "a", note: MASK, text: MASK });

  const quote = await managed("POST", `/orbs/${ORB}/entries?publish=true`, {
    module: "news",
    schema: "quote",
    values: { article: id },
  });
  for (const [path, as] of [
    [`/api/${ORB}/news/quote/${quote.id}?expand=article`, undefined],
    [`/api/${ORB}/news/quote?expand=article`, undefined],
    [`/api/admin/orbs/${ORB}/entries?module=news&schema=quote&expand=article`, token],
  ] as const) {
    const { body } = await call("GET", path, undefined, as);
    expect(JSON.stringify(body), path).not.toContain(PLAIN);
    expect((body.items?.[0] ?? body).expand.article.values, path).toMatchObject({ title: "a", note: MASK });
  }
  const compared = await managed("GET", `/orbs/${ORB}/entries/${id}/revisions/2?against=1`);
  expect(JSON.stringify(compared)).not.toContain(PLAIN);
  for (const asked of ["filter[note]=plain+words", "sort=note"])
    expect((await call("GET", `/api/${ORB}/news/article?${asked}`)).status).toBe(400);
  // Platform admins can still reveal the value.
  const { body } = await call("GET", `/api/admin/orbs/${ORB}/entries/${id}?reveal=true`, undefined, token);
  expect(body.values.note).toBe(PLAIN);
});

test("masks the published copy beside a draft, and keeps the encrypted value when a write sends the mask back", async () => {
  const id = await storedOpen();
  const path = `/api/admin/orbs/${ORB}/entries/${id}`;
  const sent = await call("PUT", path, { values: { ...masked, title: "b" } }, token);
  expect(sent).toMatchObject({ status: 200, body: { values: { ...masked, title: "b" } } });
  const head = await headOf(id);
  expect(JSON.stringify(head)).not.toContain(PLAIN);
  expect(head).toMatchObject({ title: "b", note: { $sealed: expect.any(String) } });
  const live = await call("GET", `/api/${ORB}/news/article/${id}?locale=*`);
  expect(live.body.values).toEqual(masked);
  const list = await call("GET", `/api/${ORB}/news/article?locale=*`);
  expect(JSON.stringify(list.body)).not.toContain(PLAIN);
  const published = await call("POST", `${path}/publish`, undefined, token);
  expect(published.status).toBe(200);
  const revealed = await call("GET", `${path}?reveal=true`, undefined, token);
  expect(revealed.body.values).toMatchObject({ note: PLAIN, text: { CH: { en: PLAIN } } });
});

test("masks plain values in transaction records and in settings", async () => {
  const ask = async (handler: string, more: object = {}) => {
    const { status, body } = await call("POST", `/api/${ORB}/${handler}`, more, member.token);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  await ask("record", { values: { note: "x" }, key: "k" });
  await ask("set", { values: { note: "x" } });
  for (const type of ["transactions", "settings"] as const) {
    const found = await store.get(streams.orb(ORB), `${ORB}.${type}.owner.${type}.*`);
    const body = { ...found?.json<object>(), revision: 2, publishedRevision: 2, values: { note: PLAIN } };
    await store.append(streams.orb(ORB), { subject: found?.subject ?? "", data: JSON.stringify(body) });
  }
  const answers = [
    await ask("list"),
    await ask("record", { values: { note: "x" }, key: "k" }),
    await ask("get"),
  ];
  for (const answer of answers) {
    expect(JSON.stringify(answer)).not.toContain(PLAIN);
    expect((answer.items?.[0] ?? answer).values).toEqual({ note: MASK });
  }
});

test("reveals sensitive values to owners of the orb only, and records who revealed what", async () => {
  const secret = "the owner reads this";
  const made = await request(platform, "POST", `/api/${ORB}/news/article?publish=true`, {
    token,
    body: { values: { title: "Paid", note: secret } },
  });
  expect(made.status).toBe(201);
  const path = `/api/${ORB}/news/article/${made.body.id}`;
  const [owner, manager, stranger] = await Promise.all([
    user(platform, "auth", "owner"),
    user(platform, "auth", "admin"),
    register(
      platform,
      "/api/_auth",
      (await request(platform, "POST", "/api/_auth/invitations", { token })).body.token,
    ),
  ]);
  const ask = (query: string, by?: SignedIn) =>
    request(platform, "GET", `${path}?${query}`, by === undefined ? {} : { token: by.token });
  const statuses = async (query: string) =>
    Promise.all(
      [undefined, member, manager, owner, stranger].map(async (by) => (await ask(query, by)).status),
    );
  expect(await statuses("reveal=true")).toEqual([401, 403, 403, 200, 200]);
  const revealed = await ask("reveal=true", owner);
  expect(revealed.body.values).toMatchObject({ title: "Paid", note: secret });
  expect(revealed.headers.get("cache-control")).toBe("no-store");
  for (const query of ["", "reveal=false", "revision=latest"])
    expect((await ask(query, owner)).body.values.note, query).toBe(MASK);
  expect((await ask("reveal=yes", owner)).status).toBe(400);
  expect(
    (await request(platform, "GET", `/api/${ORB}/news/article?reveal=true`, { token: owner.token })).status,
  ).toBe(400);

  // A draft is revealed by itself. The live revision keeps its own value.
  const draft = await request(platform, "PUT", path, {
    token: owner.token,
    body: { values: { note: "draft" } },
  });
  expect(draft.status).toBe(200);
  expect((await ask("reveal=true", owner)).body.values.note).toBe(secret);
  expect((await ask("reveal=true&revision=latest", owner)).body.values.note).toBe("draft");

  const audit = `/api/admin/audit?filter[realm]=${ORB}&filter[action]=reveal&filter[actor]=${owner.id}`;
  const { items } = (await request(platform, "GET", audit, { token })).body;
  expect(items.map(({ target }: { target: string }) => target)).toEqual(
    expect.arrayContaining([`${made.body.id}/1`, `${made.body.id}/2`]),
  );
  expect(platform.logs.join("\n")).not.toContain(secret);
});
