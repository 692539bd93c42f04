/** A definition of the orb in a change set: previewed and published together with the set's entries. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let root: string;
const people = new Map<string, SignedIn>();

const WRITTEN = {
  read: ["public"],
  create: ["user"],
  update: ["editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const TITLE = { name: "title", type: "string" };
const PRICE = { name: "price", type: "integer" };
const BADGE = { name: "badge", type: "string", index: "ordered" };

/** @param fields the fields of products */
const document = (id: string, fields: readonly object[] = [TITLE, PRICE], more: readonly object[] = []) => ({
  id,
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "editor", name: "Editors" }],
  workflow: { review: [{ by: ["admin"], module: "press" }] },
  modules: [
    { id: "catalog", type: "CONTENT", schemas: [{ id: "product", access: WRITTEN, fields }, ...more] },
    {
      id: "press",
      type: "CONTENT",
      schemas: [{ id: "release", access: WRITTEN, fields: [{ name: "text", type: "string" }] }],
    },
  ],
});
const NEWS = { id: "offer", access: WRITTEN, fields: [{ name: "text", type: "string", required: true }] };

type Who = SignedIn | string | undefined;
const as = async (
  who: Who,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) =>
  call(platform, method, path, {
    ...(who === undefined ? {} : { token: typeof who === "string" ? who : who.token }),
    ...(body === undefined ? {} : { body }),
    headers,
  });
const done = async (...request: Parameters<typeof as>) => {
  const answer = await as(...request);
  expect([answer.status < 300, answer.body?.code, answer.body?.errors]).toEqual([true, undefined, undefined]);
  return answer.body;
};

let serial = 0;
/** Makes an orb without review rules that concern products, and a product. */
async function shop(): Promise<{ orb: string; items: string; id: string }> {
  const orb = `defset-${++serial}`;
  await done(root, "POST", "/api/admin/orbs?publish=true", document(orb));
  const items = `/api/${orb}/catalog/product`;
  const made = await done(root, "POST", `${items}?publish=true`, { values: { title: "Chair", price: 5 } });
  return { orb, items, id: made.id };
}
const opened = async (orb: string): Promise<string> =>
  (await done(root, "POST", `/api/admin/orbs/${orb}/changes`, { title: "Spring sale" })).id;
const publish = (orb: string, set: string) =>
  as(root, "POST", `/api/admin/orbs/${orb}/changes/${set}/publish`, {});
/** Approves a set, because its definition concerns the entries of all modules. */
const approve = async (orb: string, set: string) => {
  await done(root, "POST", `/api/admin/orbs/${orb}/changes/${set}/review`);
  await done(root, "POST", `/api/admin/orbs/${orb}/changes/${set}/approve`, {});
};

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
});

describe("a definition in a change set", () => {
  test("is previewed with the entries, and goes live with them", async () => {
    const { orb, items, id } = await shop();
    const set = await opened(orb);
    const one = `/api/admin/orbs/${orb}`;
    const put = await as(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, PRICE, BADGE], [NEWS]));
    expect([put.status, put.headers.get("etag")]).toEqual([200, '"2"']);
    expect((await done(root, "GET", one)).modules[0].schemas).toHaveLength(1);
    expect((await done(root, "GET", `${one}?change=${set}`)).modules[0].schemas).toHaveLength(2);
    // A write outside of the set follows the live definition.
    const plain = await as(root, "PATCH", `${items}/${id}`, { values: { badge: "new" } });
    expect(plain.status).toBe(422);
    await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { badge: "new", price: 4 } });
    const offer = await done(root, "POST", `/api/${orb}/catalog/offer?change=${set}`, {
      values: { text: "A" },
    });
    const managed = await done(root, "POST", `${one}/entries?change=${set}`, {
      ...{ module: "catalog", schema: "offer", values: { text: "B" } },
    });
    const bad = await as(root, "POST", `/api/${orb}/catalog/offer?change=${set}`, { values: {} });
    expect([bad.status, bad.body.errors]).toMatchObject([422, [{ path: "/values/text" }]]);
    // The preview has live entries too, and finds them by a field that is not indexed yet.
    const other = await done(root, "POST", `${items}?publish=true`, { values: { title: "Table", price: 1 } });
    const list = await done(undefined, "GET", `${items}?sort=price`);
    expect(list.items.map((item: { id: string }) => item.id)).toEqual([other.id, id]);
    const preview = await done(root, "GET", `${items}?change=${set}&sort=price`);
    expect(preview.items.map((item: { values: object }) => item.values)).toEqual([
      { title: "Table", price: 1 },
      { title: "Chair", price: 4, badge: "new" },
    ]);
    const found = await done(root, "GET", `${items}?change=${set}&filter[badge]=new`);
    expect(found.items).toHaveLength(1);
    expect((await done(root, "GET", `/api/${orb}/catalog/offer/${offer.id}?change=${set}`)).values.text).toBe(
      "A",
    );
    expect((await done(root, "GET", `${one}/entries/${managed.id}?change=${set}`)).values.text).toBe("B");
    expect((await as(root, "GET", `/api/${orb}/catalog/offer`)).status).toBe(404);
    const diff = await done(root, "GET", `${one}/changes/${set}/diff`);
    expect(diff.definition).toMatchObject({ revision: 2, base: 1, conflict: false });
    expect(diff.definition.summary.join()).toContain("badge");
    expect(diff.items).toHaveLength(3);
    // Review rules of other modules concern the set too.
    expect((await publish(orb, set)).body.code).toBe("approval_missing");
    await approve(orb, set);
    const published = await publish(orb, set);
    expect([published.status, published.body.code]).toEqual([200, undefined]);
    expect(published.body.items).toHaveLength(3);
    const after = await done(undefined, "GET", `${items}/${id}`);
    expect(after.values).toEqual({ title: "Chair", price: 4, badge: "new" });
    expect((await done(undefined, "GET", `${items}?filter[badge]=new`)).items).toHaveLength(1);
    expect((await done(undefined, "GET", `/api/${orb}/catalog/offer`)).items).toHaveLength(2);
    const head = await done(root, "GET", one);
    expect([head.status, head.revision, head.publishedRevision]).toEqual(["PUBLISHED", 3, 3]);
    const history = await done(root, "GET", `${one}/revisions`);
    expect(history.items.map(({ operation }: { operation: string }) => operation).toSorted()).toEqual([
      ...["change", "create", "publish"],
    ]);
    // Writes follow the new definition at once.
    await done(root, "PATCH", `${items}/${other.id}?publish=true`, { values: { badge: "old" } });
  });

  test("is taken back together with the entries", async () => {
    const { orb, items, id } = await shop();
    const set = await opened(orb);
    const one = `/api/admin/orbs/${orb}`;
    await done(root, "PATCH", `${one}?change=${set}`, {
      modules: document(orb, [TITLE, BADGE], [NEWS]).modules,
    });
    await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { title: "Seat", badge: "new" } });
    const offer = await done(root, "POST", `/api/${orb}/catalog/offer?change=${set}`, {
      values: { text: "A" },
    });
    await approve(orb, set);
    expect((await publish(orb, set)).status).toBe(200);
    expect((await done(undefined, "GET", `${items}/${id}`)).values).toEqual({ title: "Seat", badge: "new" });
    const back = await done(root, "POST", `${one}/changes/${set}/revert`);
    expect(back.definition).toEqual({ revision: 4, base: 3, force: true });
    await approve(orb, back.id);
    const published = await publish(orb, back.id);
    expect([published.status, published.body.code, published.body.detail]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    expect((await done(undefined, "GET", `${items}/${id}`)).values).toEqual({ title: "Chair", price: 5 });
    expect((await as(undefined, "GET", `/api/${orb}/catalog/offer/${offer.id}`)).status).toBe(404);
    expect((await done(root, "GET", one)).modules).toEqual(
      (await done(root, "GET", `${one}/revisions/1`)).document.modules,
    );
    expect((await done(root, "GET", `${one}/changes/${set}`)).state).toBe("REVERTED");
  });

  test("is refused if the orb has published another one, or has a draft", async () => {
    const { orb } = await shop();
    const one = `/api/admin/orbs/${orb}`;
    const set = await opened(orb);
    const changed = document(orb, [TITLE, PRICE, BADGE]);
    await done(root, "PUT", `${one}?change=${set}`, changed);
    await done(root, "PATCH", one, { name: "Shop" });
    await approve(orb, set);
    expect((await publish(orb, set)).body.code).toBe("definition_draft");
    await done(root, "POST", `${one}/publish`);
    const refused = await publish(orb, set);
    expect([refused.status, refused.body.code]).toEqual([409, "definition_conflict"]);
    expect((await done(root, "GET", `${one}/changes/${set}/diff`)).definition.conflict).toBe(true);
    const rebase = (keep?: object, headers = {}) =>
      as(root, "POST", `${one}/changes/${set}/definition/rebase`, keep && { keep }, headers);
    expect((await rebase({}, { "if-match": '"1"' })).status).toBe(412);
    const rebased = await rebase();
    expect([rebased.status, rebased.body.name, rebased.headers.get("etag")]).toEqual([200, "Shop", '"3"']);
    expect((await publish(orb, set)).body.code).toBe("approval_void");
    // A conflict needs a decision.
    await done(root, "PATCH", `${one}?change=${set}`, { name: "Sale" });
    await done(root, "PATCH", `${one}?publish=true`, { name: "Store" });
    const diff = await done(root, "GET", `${one}/changes/${set}/diff`);
    expect(diff.definition.conflicts).toEqual(["/name"]);
    expect(diff.definition.differences).toContainEqual({
      ...{ path: "/name", base: "Shop", now: "Store", proposed: "Sale" },
    });
    const open = await rebase();
    expect([open.status, open.body.code, open.body.errors[0].path]).toEqual([
      409,
      "change_conflict",
      "/name",
    ]);
    const command = await orbCommand(platform.origin, root);
    expect(await command.run("change", "diff", orb, set)).toMatchObject({
      ...{ code: 2, out: expect.stringContaining('/name is now "Store"') },
    });
    expect((await command.run("change", "rebase", orb, set, "--keep", "/name=live")).code).toBe(0);
    await approve(orb, set);
    expect((await publish(orb, set)).status).toBe(200);
    expect((await done(root, "GET", one)).name).toBe("Store");
  });

  test("is versioned, can be taken out, and is checked like any other", async () => {
    const { orb, items, id } = await shop();
    const one = `/api/admin/orbs/${orb}`;
    const set = await opened(orb);
    const within = `${one}?change=${set}`;
    const changed = document(orb, [TITLE, PRICE, BADGE]);
    expect((await as(root, "PUT", within, { ...changed, modules: 1 })).status).toBe(422);
    expect((await as(root, "PUT", `${within}&publish=true`, changed)).body.errors).toMatchObject([
      { path: "/publish", code: "not_applicable" },
    ]);
    const tried = await done(root, "PUT", `${within}&dryRun=true`, document(orb, [TITLE]));
    expect(tried).toMatchObject({ dryRun: true, refused: false });
    expect((await as(root, "PUT", within, changed, { "if-match": '"1"' })).status).toBe(200);
    expect((await as(root, "PUT", within, changed, { "if-match": '"1"' })).status).toBe(412);
    const before = await done(root, "GET", `${one}/changes/${set}`);
    expect(before).toMatchObject({ entries: 0, definition: { revision: 2, base: 1, force: false } });
    await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { badge: "new" } });
    await done(root, "DELETE", `${one}/changes/${set}/definition`);
    expect((await as(root, "DELETE", `${one}/changes/${set}/definition`)).status).toBe(404);
    expect((await done(root, "GET", `${items}/${id}?change=${set}`)).values).toEqual({
      title: "Chair",
      price: 5,
    });
    expect((await done(root, "GET", `${one}/changes/${set}`)).definition).toBeNull();
    expect((await as(root, "GET", `${one}?change=none`)).status).toBe(404);
  });

  test("gives no rights before it is live, and is written by admins only", async () => {
    const { orb, items, id } = await shop();
    const editor = await user(platform, orb, "editor");
    people.set(orb, editor);
    const one = `/api/admin/orbs/${orb}`;
    const set = await opened(orb);
    await done(root, "PATCH", `${items}/${id}?change=${set}`, { values: { price: 4 } });
    expect((await as(editor, "PUT", `${one}?change=${set}`, document(orb))).status).toBe(403);
    expect((await done(editor, "GET", `${items}/${id}?change=${set}`)).values.price).toBe(4);
    const secret = { name: "cost", type: "integer", access: { read: ["admin"] } };
    await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, PRICE, BADGE]));
    expect((await done(editor, "GET", `${items}/${id}?change=${set}`)).values.price).toBe(4);
    // A new field may have rules of its own.
    await done(root, "PUT", `${one}?change=${set}`, document(orb, [TITLE, PRICE, secret]));
    expect((await done(editor, "GET", `${items}/${id}?change=${set}`)).values.price).toBe(4);
    const open = { ...document(orb), roles: [] };
    open.modules[0]?.schemas.splice(0, 1, {
      ...NEWS,
      id: "product",
      access: { ...WRITTEN, update: ["user"] },
    } as never);
    const changed = JSON.parse(JSON.stringify(open).replaceAll('"editor"', '"user"'));
    await done(root, "PUT", `${one}?change=${set}&force=true`, {
      ...changed,
      roles: [{ id: "editor", name: "Editors" }],
    });
    expect((await as(editor, "GET", `${items}/${id}?change=${set}`)).status).toBe(403);
    expect((await as(undefined, "GET", `${items}?change=${set}`)).status).toBe(401);
    const diff = await done(editor, "GET", `/api/${orb}/changes/${set}/diff`);
    expect(diff.definition).toBeNull();
  });

  test("is written and compared by the command orb", async () => {
    const { orb } = await shop();
    const set = await opened(orb);
    const command = await orbCommand(platform.origin, root);
    expect((await command.run("pull", orb)).code).toBe(0);
    const path = join(command.folder, "orbs", `${orb}.json`);
    const file = JSON.parse(readFileSync(path, "utf8"));
    file.modules[0].schemas[0].fields.push(BADGE);
    writeFileSync(path, JSON.stringify(file));
    const into = ["--change", set];
    expect(await command.run("diff", orb, ...into)).toMatchObject({
      ...{ code: 2, out: expect.stringContaining("badge") },
    });
    expect(await command.run("push", orb, ...into)).toMatchObject({
      ...{ code: 0, out: expect.stringContaining("written into the change set") },
    });
    expect((await command.run("diff", orb, ...into)).code).toBe(0);
    expect((await command.run("push", orb, "--publish", ...into)).code).toBe(1);
    const diff = await command.run("change", "diff", orb, set);
    expect([diff.code, diff.out]).toEqual([0, expect.stringContaining("definition of the orb")]);
    expect((await done(root, "GET", `/api/admin/orbs/${orb}`)).revision).toBe(1);
  });
});
