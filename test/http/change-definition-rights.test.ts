/** What a definition of the orb in a change set must not do before it is live, and what its approvals are for. */
import { beforeAll, expect, test } from "vitest";
import { call, type SignedIn, user } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let root: string;
let staged: Awaited<ReturnType<typeof stage>>;
const { register } = registrar(() => staged);

beforeAll(async () => {
  staged = await stage();
  ({ platform, admin: root } = staged);
});

const WRITTEN = {
  read: ["public"],
  create: ["user"],
  update: ["editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const HIDDEN = {
  read: ["admin"],
  create: ["admin"],
  update: ["admin"],
  publish: ["admin"],
  delete: ["admin"],
};
const TITLE = { name: "title", type: "string" };
const NOTE = { name: "note", type: "string" };
const COST = { name: "cost", type: "integer", access: { read: ["admin"] } };
const ACCESS = { service: "access", handlers: ["passkey", "invitations", "bootstrap"] };

const document = (id: string, fields: readonly object[], more: readonly object[] = []) => ({
  id,
  uses: [ACCESS],
  roles: [{ id: "editor", name: "Editors" }],
  workflow: { review: [{ by: ["admin"], module: "catalog" }] },
  modules: [
    { id: "catalog", type: "CONTENT", schemas: [{ id: "product", access: WRITTEN, fields }, ...more] },
  ],
});

async function done(who: SignedIn | string, method: string, path: string, body?: unknown) {
  const token = typeof who === "string" ? who : who.token;
  const answer = await call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
  expect([answer.status < 300, answer.body?.code, answer.body?.errors]).toEqual([true, undefined, undefined]);
  return answer.body;
}

let serial = 0;
interface Shop {
  orb: string;
  /** Path of the orb in the management API. */
  one: string;
  items: string;
  id: string;
  set: string;
}
/** Makes an orb with a product, and a change set. */
async function shop(fields: readonly object[], values: object, more: readonly object[] = []): Promise<Shop> {
  const orb = `defrights-${++serial}`;
  const one = `/api/admin/orbs/${orb}`;
  await done(root, "POST", "/api/admin/orbs?publish=true", document(orb, fields, more));
  const items = `/api/${orb}/catalog/product`;
  const { id } = await done(root, "POST", `${items}?publish=true`, { values });
  const set = (await done(root, "POST", `${one}/changes`, { title: "Spring" })).id;
  return { orb, one, items, id, set };
}
async function approve({ one, set }: Shop): Promise<void> {
  await done(root, "POST", `${one}/changes/${set}/review`);
  await done(root, "POST", `${one}/changes/${set}/approve`, {});
}

test("calls no handler, and no hook, that is only proposed", async () => {
  await register("early.quote");
  await register("early.page", { kind: "http" });
  await register("early.check");
  let calls = 0;
  const callback = (_: unknown, message: { respond(data: string): boolean }) => {
    calls++;
    message.respond("{}");
  };
  const heard = ["quote", "page", "check"].map((name) =>
    staged.client.subscribe(`svc.early.${name}`, { callback }),
  );
  await staged.client.flush();
  const { orb, one, items, id, set } = await shop([TITLE], { title: "Chair" });
  const uses = [ACCESS, { service: "early", handlers: ["quote", "page", "check"] }];
  const on = ["entry.created", "entry.updated"];
  const hooks = [{ id: "check", on, handler: "early.check", mode: "before" }];
  await done(root, "PATCH", `${one}?change=${set}`, { uses, hooks });
  for (const name of ["quote", "page"]) {
    for (const token of [undefined, root]) {
      const answer = await call(platform, "POST", `/api/${orb}/${name}?change=${set}`, {
        ...(token === undefined ? {} : { token }),
        body: {},
      });
      expect(answer.status).toBe(404);
    }
  }
  await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { title: "Seat" } });
  await done(root, "POST", `${items}?change=${set}`, { values: { title: "Table" } });
  expect(calls).toBe(0);
  for (const each of heard) each.unsubscribe();
});

test("shows no differences by rights that it only proposes", async () => {
  const { orb, one, items, id, set } = await shop([TITLE, COST], { title: "Chair", cost: 7 });
  const editor = await user(platform, orb, "editor");
  await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { cost: 9 } });
  const path = `/api/${orb}/changes/${set}/diff`;
  expect((await done(editor, "GET", path)).items[0].fields).toEqual([]);
  const open = document(orb, [TITLE, { name: "cost", type: "integer" }]);
  await done(root, "PUT", `${one}?change=${set}`, open);
  expect(await done(editor, "GET", path)).toMatchObject({ items: [], hidden: 1 });
  expect((await done(root, "GET", `${one}/changes/${set}/diff`)).items[0].fields).toHaveLength(1);
});

test("shows nothing of schemas and fields that it brings back", async () => {
  const memo = { id: "memo", access: HIDDEN, fields: [TITLE] };
  const { orb, one, items, id, set } = await shop([TITLE, COST], { title: "Chair", cost: 7 }, [memo]);
  const editor = await user(platform, orb, "editor");
  await done(root, "POST", `/api/${orb}/catalog/memo?publish=true`, { values: { title: "secret" } });
  await done(root, "PUT", `${one}?publish=true&force=true`, document(orb, [TITLE]));
  const seen = async (path: string) => {
    const answer = await call(platform, "GET", path, { token: editor.token });
    return [answer.status, JSON.stringify(answer.body).includes("secret"), answer.body.values?.cost];
  };
  const public_ = { ...memo, access: WRITTEN };
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE], [public_]));
  expect(await seen(`/api/${orb}/catalog/memo?change=${set}`)).toEqual([403, false, undefined]);
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, { name: "cost", type: "integer" }]));
  expect(await seen(`${items}/${id}?change=${set}`)).toEqual([403, false, undefined]);
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, NOTE]));
  expect(await seen(`${items}/${id}?change=${set}`)).toEqual([200, false, undefined]);
});

test("shows nothing that it opened before the orb has removed it", async () => {
  const memo = { id: "memo", access: HIDDEN, fields: [TITLE] };
  const { orb, one, items, id, set } = await shop([TITLE, COST], { title: "Chair", cost: 7 }, [memo]);
  const editor = await user(platform, orb, "editor");
  await done(root, "POST", `/api/${orb}/catalog/memo?publish=true`, { values: { title: "secret" } });
  const opened = [TITLE, { name: "cost", type: "integer" }];
  await done(root, "PUT", `${one}?change=${set}`, document(orb, opened, [{ ...memo, access: WRITTEN }]));
  await done(root, "PUT", `${one}?publish=true&force=true`, document(orb, [TITLE]));
  for (const path of [`${items}/${id}`, `/api/${orb}/catalog/memo`]) {
    const answer = await call(platform, "GET", `${path}?change=${set}`, { token: editor.token });
    expect([answer.status, answer.body.values, answer.body.items]).toEqual([403, undefined, undefined]);
  }
});

test("tells its names to nobody who may not read the set", async () => {
  const { orb, one, set } = await shop([TITLE], { title: "Chair" });
  const plan = { id: "takeover", access: WRITTEN, fields: [TITLE] };
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE], [plan]));
  for (const schema of ["takeover", "none"]) {
    const answer = await call(platform, "GET", `/api/${orb}/catalog/${schema}?change=${set}`, {});
    expect([answer.status, answer.body.detail]).toEqual([
      404,
      "The module catalog has no such schema. Use one of: product.",
    ]);
  }
  for (const path of ["/api/discovery", "/api/discovery/me"]) {
    const answer = await call(platform, "GET", `${path}?orb=${orb}&change=${set}`, {});
    expect([path, answer.status]).toEqual([path, 401]);
    const alone = await call(platform, "GET", `${path}?change=${set}`, { token: root });
    expect([path, alone.status, alone.body.errors[0].path]).toEqual([path, 400, "/change"]);
    const none = await call(platform, "GET", `${path}?orb=${orb}&change=nosuchset`, { token: root });
    expect([path, none.status]).toEqual([path, 404]);
  }
});

test("is described to editors of the set, with their rights in it", async () => {
  const { orb, one, set } = await shop([TITLE], { title: "Chair" });
  const editor = await user(platform, orb, "editor");
  const offer = { id: "offer", access: { ...WRITTEN, create: ["editor"] }, fields: [TITLE] };
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, NOTE], [offer]));
  const query = `orb=${orb}&change=${set}`;
  const { orbs } = await done(editor, "GET", `/api/discovery?${query}`);
  const [product, added] = orbs[0].modules[0].schemas;
  expect(product.fields.map(({ name }: { name: string }) => name)).toEqual(["title", "note"]);
  expect(added.id).toBe("offer");
  const { orb: rights } = await done(editor, "GET", `/api/discovery/me?${query}`);
  expect(rights.modules[0].schemas[1]).toMatchObject({
    id: "offer",
    can: expect.arrayContaining(["create"]),
  });
  const live = await done(editor, "GET", `/api/discovery?orb=${orb}`);
  expect(live.orbs[0].modules[0].schemas).toHaveLength(1);
});

test("is approved for the definition that it replaces", async () => {
  const one = await shop([TITLE], { title: "Chair" });
  const { orb, set } = one;
  const proposed = document(orb, [TITLE, { name: "badge", type: "string" }]);
  await done(root, "PUT", `${one.one}?change=${set}`, proposed);
  await approve(one);
  await done(root, "PUT", `${one.one}?publish=true`, document(orb, [TITLE, NOTE]));
  // The same document would remove the field that the orb has got meanwhile.
  await done(root, "PUT", `${one.one}?change=${set}`, proposed);
  const refusal = async () =>
    (await call(platform, "POST", `${one.one}/changes/${set}/publish`, { token: root, body: {} })).body.code;
  expect(await refusal()).toBe("definition_conflict");
  await done(root, "POST", `${one.one}/changes/${set}/definition/rebase`, {});
  expect(await refusal()).toBe("approval_void");
  await approve(one);
  await done(root, "POST", `${one.one}/changes/${set}/publish`, {});
});

test("can be scheduled without entries", async () => {
  const one = await shop([TITLE], { title: "Chair" });
  await done(root, "PUT", `${one.one}?change=${one.set}`, document(one.orb, [TITLE, NOTE]));
  await approve(one);
  const publishAt = new Date(Date.now() + 86_400_000).toISOString();
  const planned = await done(root, "PATCH", `${one.one}/changes/${one.set}`, { publishAt });
  expect(planned.state).toBe("SCHEDULED");
});

test("shows and takes the shape of the definition that serves, for callers who name it", async () => {
  const size = { name: "size", type: "integer" };
  const { orb, one, items, id, set } = await shop([TITLE, size], { title: "Chair", size: 4 });
  const renamed = [
    { name: "headline", was: "title", type: "string" },
    { name: "size", type: "string" },
  ];
  await done(root, "PUT", `${one}?change=${set}`, document(orb, renamed));
  const headers = { "orb-definition": "1" };
  const pinned = { token: root, headers, body: { values: { title: "Seat" } } };
  expect((await call(platform, "PATCH", `${items}/${id}?change=${set}`, pinned)).status).toBe(200);
  for (const address of [items, `${one}/entries`]) {
    const path = `${address}/${id}?change=${set}`;
    const shown = await call(platform, "GET", path, { token: root, headers });
    expect(shown.body.values).toEqual({ title: "Seat", size: 4 });
    const newest = await call(platform, "GET", path, { token: root });
    expect(newest.body.values).toEqual({ headline: "Seat", size: "4" });
  }
});

test("keeps the values of its fields when a caller writes in an earlier shape", async () => {
  const { orb, one, items, id, set } = await shop([TITLE], { title: "Chair" });
  await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, NOTE]));
  await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { note: "new" } });
  const pinned = await call(platform, "PATCH", `${items}/${id}?change=${set}`, {
    ...{ token: root, body: { values: { title: "Seat" } }, headers: { "orb-definition": "1" } },
  });
  expect([pinned.status, pinned.body.code]).toEqual([200, undefined]);
  const { values } = await done(root, "GET", `${items}/${id}?change=${set}`);
  expect(values).toEqual({ title: "Seat", note: "new" });
});
