/** Changes of type on a live schema: stored values, indexes and history follow without rewriting an entry. */
import { beforeAll, describe, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const { ask: call, send: ok } = sending(() => ({ platform, token }));

const change = (orb: string, fields: readonly object[], query = "") =>
  call("PUT", `/api/admin/orbs/${orb}?publish=true${query}`, documentOf(orb, fields));

async function published(orb: string, fields: readonly object[]) {
  const answer = await change(orb, fields);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

const documentOf = (id: string, fields: readonly object[]) => ({
  id,
  languages: ["en", "de"],
  modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access: { read: "public" }, fields }] }],
});

async function started(orb: string, fields: readonly object[]): Promise<void> {
  await ok("POST", "/api/admin/orbs?publish=true", documentOf(orb, fields));
}

const found = async (orb: string, query: string) =>
  (await ok("GET", `/api/${orb}/m/s?${query}`)).items.map(({ id }: { id: string }) => id);

describe("a change of type that loses nothing", () => {
  const plain = (orb: string) => [
    { name: "code", type: "integer", unique: true, index: "ordered" },
    { name: "title", type: "string", search: true },
    { name: "day", type: "date", index: "ordered" },
    { name: "like", type: "reference", ref: `${orb}/m/s` },
    { name: "pin", type: "string", sensitive: true },
    { name: "o", type: "object", fields: [{ name: "state", type: "string", enum: ["new", "used"] }] },
  ];
  const changed = (orb: string) => [
    { name: "code", type: "string", unique: true, index: "ordered" },
    { name: "headline", was: "title", type: "text", search: true, translatable: true },
    { name: "day", type: "datetime", index: "ordered" },
    { name: "like", type: "reference", ref: `${orb}/m/s`, list: true },
    { name: "pin", type: "string", sensitive: true, translatable: true },
    {
      name: "o",
      type: "object",
      list: true,
      fields: [{ name: "state", type: "string", enum: ["new", "used"] }],
    },
  ];

  test("keeps values, history, indexes, unique values, search, references and secrets, and leads back", async () => {
    const orb = "types-all";
    const base = `/api/${orb}/m/s`;
    const admin = `/api/admin/orbs/${orb}/entries`;
    await started(orb, plain(orb));
    const first = await ok("POST", `${base}?publish=true`, {
      values: { code: 9, title: "The chair", day: "2026-03-01", pin: "secret", o: { state: "new" } },
    });
    const second = await ok("POST", `${base}?publish=true`, {
      values: { code: 10, title: "The table", day: "2026-02-01", like: first.id, o: { state: "used" } },
    });
    await ok("PATCH", `${base}/${second.id}`, { values: { title: "A table" } });
    const then = new Date().toISOString();

    const dry = await ok(
      "PUT",
      `/api/admin/orbs/${orb}?publish=true&dryRun=true`,
      documentOf(orb, changed(orb)),
    );
    expect(dry.refused).toBe(false);
    expect(
      dry.impact.changes.map((one: Record<string, unknown>) => [one.severity, one.code, one.field]),
    ).toEqual([
      ["converted", "converted_field", "code"],
      ["renamed", "renamed_field", "headline"],
      ["converted", "converted_field", "headline"],
      ["converted", "converted_field", "day"],
      ["converted", "converted_field", "like"],
      ["converted", "converted_field", "pin"],
      ["converted", "converted_field", "o"],
    ]);
    await published(orb, changed(orb));

    const shown = {
      code: "9",
      headline: { en: "The chair" },
      day: "2026-03-01T00:00:00.000Z",
      pin: { en: MASK },
      o: [{ _key: "first", state: "new" }],
    };
    expect((await ok("GET", `${base}/${first.id}?locale=*`)).values).toEqual(shown);
    expect((await ok("GET", `${admin}/${first.id}?reveal=true`)).values.pin).toEqual({
      en: "secret",
    });
    expect((await ok("GET", `${base}/${second.id}?expand=like`)).expand.like[0].id).toBe(first.id);
    expect((await ok("GET", `${base}/${second.id}?revision=latest`)).values.headline).toBe("A table");
    expect((await ok("GET", `${admin}/${first.id}?at=${encodeURIComponent(then)}`)).values).toEqual(shown);
    expect((await ok("GET", `${admin}/${second.id}/revisions/1`)).values.code).toBe("10");
    // Texts are in the order of their characters.
    expect(await found(orb, "sort=code")).toEqual([second.id, first.id]);
    expect(await found(orb, "filter[code]=9")).toEqual([first.id]);
    expect(await found(orb, "sort=day")).toEqual([second.id, first.id]);
    expect(await found(orb, "filter[day][gt]=2026-02-15T00:00:00Z")).toEqual([first.id]);
    expect(await found(orb, "search=chair")).toEqual([first.id]);
    expect(await found(orb, `filter[like][contains]=${first.id}`)).toEqual([second.id]);
    expect((await ok("GET", `${base}/by/code/9`)).id).toBe(first.id);
    expect((await call("POST", base, { values: { code: "9" } })).body).toMatchObject({
      code: "unique_conflict",
      errors: [{ path: "/values/code" }],
    });
    const referred = await call("DELETE", `${admin}/${first.id}`);
    expect(referred).toMatchObject({
      status: 409,
      body: { total: 1, referrers: [{ id: second.id, field: "like" }] },
    });
    expect(referred.body.referrers).toHaveLength(1);

    // Entries that are written meanwhile, and one that is written in each shape.
    await ok("PATCH", `${base}/${second.id}?publish=true`, { values: { code: "11" } });
    expect((await call("POST", base, { values: { code: "10" } })).status).toBe(201);
    const third = await ok("POST", `${base}?publish=true`, {
      values: {
        code: "12",
        headline: { en: "Third" },
        day: "2026-01-01T00:00:00Z",
        like: [second.id],
        pin: { en: "p" },
      },
    });
    await published(orb, plain(orb));
    expect((await ok("GET", `${base}/${first.id}`)).values).toEqual({
      code: 9,
      title: "The chair",
      day: "2026-03-01",
      pin: MASK,
      o: { state: "new" },
    });
    expect((await ok("GET", `${base}/${second.id}`)).values).toMatchObject({
      code: 11,
      title: "The table",
      day: "2026-02-01",
      like: first.id,
      o: { state: "used" },
    });
    expect((await ok("GET", `${base}/${third.id}`)).values).toMatchObject({
      code: 12,
      title: "Third",
      day: "2026-01-01",
    });
    expect((await ok("GET", `${admin}/${third.id}?reveal=true`)).values.pin).toBe("p");
    expect(await found(orb, "sort=code")).toEqual([first.id, second.id, third.id]);
    expect(await found(orb, "sort=day")).toEqual([third.id, second.id, first.id]);
    expect(await found(orb, "search=third")).toEqual([third.id]);
    expect(await found(orb, `filter[like]=${second.id}`)).toEqual([third.id]);
    expect((await call("POST", base, { values: { code: 12 } })).body.code).toBe("unique_conflict");

    // And forward again: the values that were written in the new shape have not changed.
    await published(orb, changed(orb));
    expect((await ok("GET", `${base}/${third.id}?locale=*`)).values.headline).toEqual({ en: "Third" });
    expect(await found(orb, "search=third")).toEqual([third.id]);
    expect((await call("POST", base, { values: { code: "11" } })).body.code).toBe("unique_conflict");
    const answer = await fetch(`${platform.origin}/api/admin/orbs/${orb}/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const lines: { head?: { id: string; values: object } }[] = (await answer.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const exported = lines.find(({ head }) => head?.id === first.id);
    expect(exported?.head?.values).toMatchObject({ headline: { en: "The chair" } });
  });
});

describe("a change of type that would lose a value", () => {
  const orb = "types-lossy";
  const field = (more: object) => [{ name: "x", ...more }];

  test("is refused with the entries and the reasons, until each entry is changed", async () => {
    await started(orb, field({ type: "string" }));
    const base = `/api/${orb}/m/s`;
    const good = await ok("POST", `${base}?publish=true`, { values: { x: "7" } });
    const bad = await ok("POST", `${base}?publish=true`, { values: { x: "seven" } });
    // Only the published revision has the value.
    const draft = await ok("POST", `${base}?publish=true`, { values: { x: "07" } });
    await ok("PATCH", `${base}/${draft.id}`, { values: { x: "8" } });
    const lossy = {
      entries: 2,
      examples: expect.arrayContaining([
        { id: bad.id, reason: 'cannot become integer: "seven"' },
        { id: draft.id, reason: 'would lose something as integer: "07"' },
      ]),
    };
    const dry = await ok(
      "PUT",
      `/api/admin/orbs/${orb}?publish=true&dryRun=true`,
      documentOf(orb, field({ type: "integer" })),
    );
    expect(dry).toMatchObject({
      refused: true,
      impact: {
        changes: [
          { code: "converted_field", field: "x", entries: 3, lossy, refused: true, forceable: false },
        ],
      },
    });
    const refused = await change(orb, field({ type: "integer" }), "&force=true");
    expect(refused).toMatchObject({ status: 409, body: { code: "incompatible_change" } });
    expect(refused.body.detail).toContain(`${bad.id} cannot become integer: "seven"`);
    expect(refused.body.detail).toContain("Change these entries first");

    await ok("PATCH", `${base}/${bad.id}?publish=true`, { values: { x: "70" } });
    await ok("POST", `/api/admin/orbs/${orb}/entries/${draft.id}/publish`);
    await published(orb, field({ type: "integer" }));
    expect((await ok("GET", `${base}/${good.id}`)).values).toEqual({ x: 7 });
    expect((await ok("GET", `${base}/${bad.id}`)).values).toEqual({ x: 70 });
    // An old revision has no value, and shows none.
    expect((await ok("GET", `/api/admin/orbs/${orb}/entries/${bad.id}/revisions/1`)).values).toEqual({});
  });

  test("is a matter of the entries alone: a list becomes single while no entry has two values", async () => {
    const id = "types-single";
    await started(id, field({ type: "string", list: true, translatable: true }));
    const base = `/api/${id}/m/s`;
    const entry = await ok("POST", `${base}?publish=true`, { values: { x: { en: ["a"] } } });
    await published(id, field({ type: "string" }));
    expect((await ok("GET", `${base}/${entry.id}`)).values).toEqual({ x: "a" });
  });
});

test("a rule converts values, is refused while it fails, and leads back to the values before it", async () => {
  const orb = "types-rule";
  const admin = `/api/admin/orbs/${orb}`;
  const base = `/api/${orb}/m/s`;
  const before = [{ name: "paid", type: "string", index: "ordered" }];
  const rule = { if: [{ in: [{ var: "value" }, "yes on"] }, 1, { "==": [{ var: "value" }, "no"] }, 0, "?"] };
  const after = [{ name: "paid", type: "integer", index: "ordered", from: { convert: rule } }];
  await started(orb, before);
  const [yes, no, maybe] = await Promise.all(
    ["yes", "no", "maybe"].map((paid) => ok("POST", `${base}?publish=true`, { values: { paid } })),
  );
  const reason = 'cannot be converted: "maybe". The rule returns "?", which must be a number';
  const lossy = { entries: 1, examples: [{ id: maybe.id, reason }] };
  expect(await ok("PUT", `${admin}?publish=true&dryRun=true`, documentOf(orb, after))).toMatchObject({
    refused: true,
    impact: { changes: [{ code: "converted_field", lossy, refused: true }] },
  });
  expect(await change(orb, after, "&force=true")).toMatchObject({
    status: 409,
    body: { code: "incompatible_change", impact: { changes: [{ lossy }] } },
  });
  expect((await ok("GET", `${base}/${yes.id}`)).values).toEqual({ paid: "yes" });
  await ok("PATCH", `${base}/${maybe.id}?publish=true`, { values: { paid: "on" } });
  await published(orb, after);
  expect((await ok("GET", `${base}/${yes.id}`)).values).toEqual({ paid: 1 });
  expect((await ok("GET", `${admin}/entries/${maybe.id}/revisions/1`)).values).toEqual({});
  expect((await ok("GET", `${admin}/entries/${maybe.id}/revisions/2`)).values).toEqual({ paid: 1 });
  expect(await found(orb, "sort=paid&filter[paid][lt]=1")).toEqual([no.id]);
  // The earlier document cannot show a value that was written meanwhile, until it says how.
  await ok("PATCH", `${base}/${no.id}?publish=true`, { values: { paid: 1 } });
  expect((await change(orb, before)).body.impact.changes).toMatchObject([
    { lossy: { entries: 1, examples: [{ id: no.id }] }, refused: true },
  ]);
  const way = { if: [{ "==": [{ var: "value" }, 1] }, "yes", "no"] };
  await published(orb, [{ ...before[0], from: { convert: way } }]);
  expect((await ok("GET", `${base}/${maybe.id}`)).values).toEqual({ paid: "on" });
  expect((await ok("GET", `${base}/${no.id}`)).values).toEqual({ paid: "yes" });
});

test("flat fields become an object, keep values, indexes and history, and the earlier document leads back", async () => {
  const orb = "types-moved";
  const admin = `/api/admin/orbs/${orb}`;
  const base = `/api/${orb}/m/s`;
  const before = [
    { name: "slug", type: "string", unique: true, index: "ordered" },
    { name: "metaTitle", type: "string", translatable: true, search: true },
    { name: "like", type: "reference", ref: `${orb}/m/s` },
  ];
  const members = before.map((field) => ({ ...field, name: field.name.replace("metaT", "t") }));
  const names = { slug: "slug", title: "metaTitle", like: "like" };
  const after = [{ name: "seo", type: "object", fields: members, from: { fields: names } }];
  await started(orb, before);
  const first = await ok("POST", `${base}?publish=true`, {
    values: { slug: "b", metaTitle: { en: "The chair" } },
  });
  const second = await ok("POST", `${base}?publish=true`, { values: { slug: "a", like: first.id } });
  const dry = await ok("PUT", `${admin}?publish=true&dryRun=true`, documentOf(orb, after));
  expect(dry.refused).toBe(false);
  expect(dry.impact.changes).toMatchObject(
    ["slug", "title", "like"].flatMap((name) => [
      { code: "moved_field", field: `seo.${name}`, severity: "renamed" },
      ...(name === "slug" ? [{ code: "added_unique" }] : []),
    ]),
  );
  await published(orb, after);
  expect((await ok("GET", `${base}/${first.id}`)).values).toEqual({ seo: { slug: "b", title: "The chair" } });
  expect(await found(orb, "sort=seo.slug")).toEqual([second.id, first.id]);
  expect(await found(orb, "filter[seo.slug]=b")).toEqual([first.id]);
  expect(await found(orb, "search=chair")).toEqual([first.id]);
  expect(await found(orb, `filter[seo.like]=${first.id}`)).toEqual([second.id]);
  expect((await ok("GET", `${base}/${second.id}?expand=seo.like`)).expand["seo.like"].id).toBe(first.id);
  expect((await call("POST", base, { values: { seo: { slug: "a" } } })).body.code).toBe("unique_conflict");
  await ok("PATCH", `${base}/${first.id}?publish=true`, { values: { seo: { slug: "c" } } });
  expect((await ok("GET", `${admin}/entries/${first.id}/revisions/1`)).values.seo.slug).toBe("b");
  await published(orb, before);
  expect((await ok("GET", `${base}/${first.id}`)).values).toMatchObject({ slug: "c" });
  expect((await ok("GET", `${base}/${second.id}`)).values).toEqual({ slug: "a", like: first.id });
  expect(await found(orb, "sort=-slug")).toEqual([first.id, second.id]);
  expect((await call("POST", base, { values: { slug: "c" } })).body.code).toBe("unique_conflict");
  expect((await call("POST", base, { values: { slug: "b" } })).status).toBe(201);
});

test("a schema without entries may change as before, and keeps its stored names", async () => {
  const orb = "types-empty";
  await started(orb, [{ name: "x", type: "string" }]);
  await published(orb, [{ name: "x", type: "boolean" }]);
  await published(orb, [{ name: "x", type: "integer", list: true }]);
  const entry = await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { x: [1] } });
  expect((await ok("GET", `/api/${orb}/m/s/${entry.id}`)).values).toEqual({ x: [1] });
});
