/** Texts that look the same count as one unique value, whatever their Unicode form. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call as request } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const call = (method: string, path: string, body?: unknown) =>
  request(platform, method, path, { token, ...(body === undefined ? {} : { body }) });

const fields = [
  { name: "slug", type: "string", unique: true },
  { name: "label", type: "string", unique: true, translatable: true },
  { name: "serial", type: "string", unique: true, sensitive: true },
  { name: "text", type: "string" },
];
const document = (id: string) => ({
  id,
  languages: ["en", "de"],
  modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "post", fields }] }],
});

/**
 * Unicode forms of one text: composed, decomposed, with zero-width space and joiner, soft hyphen, other spaces, and
 * control characters.
 */
const FORMS = [
  "caf\u00e9 noir",
  "cafe\u0301 noir",
  "ca\u200bf\u00e9\u200d noir",
  "caf\u00ade\u0301\u00a0noir",
  "caf\u00e9\u2009noir\n",
  "caf\u00e9\tno\u0001ir\u007f",
];

/** Sends rows as JSON lines in UTF-8. */
async function lines(path: string, rows: readonly unknown[]) {
  const response = await fetch(`${platform.origin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  });
  const text = await response.text();
  return {
    status: response.status,
    rows: text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}

test.each([
  ["slug", (text: string) => ({ slug: text })],
  ["label", (text: string) => ({ label: { en: text } })],
  ["serial", (text: string) => ({ serial: text })],
])("rejects another form of a %s with 409 unique_conflict", async (field, values) => {
  const id = `forms-${field}`;
  await createOrb(platform, token, document(id));
  const entries = `/api/admin/orbs/${id}/entries`;
  for (const first of FORMS.slice(0, 2)) {
    const made = await call("POST", `${entries}?publish=true`, { module: "news", values: values(first) });
    expect(made.status).toBe(201);
    const other = await call("POST", entries, { module: "news", values: { text: "other" } });
    // Each form against the first one, and one form against the second.
    for (const form of first === FORMS[0] ? FORMS : FORMS.slice(0, 1)) {
      for (const refused of [
        await call("POST", entries, { module: "news", values: values(form) }),
        await call("POST", `/api/${id}/news?publish=true`, { values: values(form) }),
        await call("PUT", `/api/${id}/news/${other.body.id}`, { values: values(form) }),
      ]) {
        expect([refused.status, refused.body.code, refused.body.errors?.[0].path.split("/")[2]]).toEqual([
          409,
          "unique_conflict",
          field,
        ]);
      }
    }
    const bulk = await lines(
      `${entries}/bulk`,
      FORMS.map((form) => ({ module: "news", values: values(form) })),
    );
    expect(bulk.rows.at(-1)).toEqual({ done: true, total: FORMS.length, created: 0, failed: FORMS.length });
    // The entry itself can switch to another form, and keeps it as sent.
    for (const form of FORMS) {
      const put = await call("PUT", `${entries}/${made.body.id}?publish=true`, { values: values(form) });
      expect(put.status).toBe(200);
    }
    const shown = await call("GET", `${entries}/${made.body.id}?reveal=true`);
    expect(shown.body.values).toEqual(values(FORMS.at(-1) ?? ""));
    // Case makes a difference.
    const upper = await call("POST", entries, { module: "news", values: values("CAF\u00c9 NOIR") });
    expect(upper.status).toBe(201);
    for (const one of [made, other, upper])
      expect((await call("DELETE", `${entries}/${one.body.id}`)).status).toBe(204);
  }
  const one = await lines(
    `${entries}/bulk`,
    FORMS.map((form) => ({ module: "news", values: values(form) })),
  );
  expect(one.rows.at(-1)).toMatchObject({ created: 1, failed: FORMS.length - 1 });
});

test("lets exactly one of several parallel writers of all forms reserve the value", async () => {
  await createOrb(platform, token, document("forms-race"));
  for (const field of ["slug", "serial"]) {
    for (let round = 0; round < 3; round++) {
      const made = await Promise.all(
        [...FORMS, ...FORMS].map((form) =>
          call("POST", "/api/forms-race/news?publish=true", {
            values: { [field]: `${round}${form}` },
          }),
        ),
      );
      const statuses = made.map(({ status }) => status).sort();
      expect(statuses).toEqual([201, ...Array(2 * FORMS.length - 1).fill(409)]);
    }
  }
});

test("a filter on a unique field finds every form, with and without the index", async () => {
  await createOrb(platform, token, document("forms-filter"));
  for (const [index, form] of FORMS.entries()) {
    const values = { slug: `${index}${form}`, label: { en: `${index}${form}` }, text: form };
    const made = await call("POST", "/api/forms-filter/news?publish=true", { values });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
  }
  for (const list of [
    "/api/forms-filter/news?",
    "/api/admin/orbs/forms-filter/entries?module=news&schema=post&",
  ]) {
    for (const index of FORMS.keys()) {
      // Each stored form is searched by itself and by the next two, so each form finds three others.
      for (const form of [...FORMS, ...FORMS].slice(index, index + 3)) {
        const value = encodeURIComponent(`${index}${form}`);
        for (const query of [
          `filter[slug]=${value}`,
          `filter[label]=${value}`,
          `filter[slug][in]=${value}`,
          `filter[slug]=${value}&sort=text`,
        ]) {
          const { status, body } = await call("GET", `${list}${query}`);
          const found = body.items?.map((item: { values: { text: string } }) => item.values.text);
          expect([query, status, found]).toEqual([query, 200, [FORMS[index]]]);
        }
        const others = await call("GET", `${list}filter[slug][ne]=${value}`);
        expect(others.body.items).toHaveLength(FORMS.length - 1);
      }
    }
    // Other fields ignore only the difference between composed and decomposed characters.
    const exact = await call("GET", `${list}filter[text]=${encodeURIComponent(FORMS[1] ?? "")}`);
    expect(exact.body.items).toHaveLength(2);
  }
});

test("an import refuses a file with two forms of one unique value", async () => {
  await createOrb(platform, token, document("forms-file"));
  for (const slug of ["caf\u00e9", "other"]) {
    const values = { slug };
    expect((await call("POST", "/api/forms-file/news?publish=true", { values })).status).toBe(201);
  }
  const headers = { authorization: `Bearer ${token}` };
  const file = await fetch(`${platform.origin}/api/admin/orbs/forms-file/export`, { headers });
  const rows = (await file.text()).trimEnd().split("\n");
  expect((await call("DELETE", "/api/admin/orbs/forms-file")).status).toBe(204);
  const forms = rows.map((row) => JSON.parse(row.replace('"slug":"other"', '"slug":"cafe\u0301"')));
  const refused = await lines("/api/admin/orbs/import", forms);
  expect([refused.status, refused.rows[0].code]).toEqual([409, "unique_conflict"]);
  const taken = await lines(
    "/api/admin/orbs/import",
    rows.map((row) => JSON.parse(row.replace('"slug":"caf\u00e9"', '"slug":"cafe\u0301"'))),
  );
  expect(taken.status).toBe(201);
  expect((await call("POST", "/api/forms-file/news", { values: { slug: "caf\u00e9" } })).status).toBe(409);
});

test("a field that becomes unique counts two forms of one value as duplicates", async () => {
  const path = "/api/admin/orbs/forms-becoming";
  const plain = {
    ...document("forms-becoming"),
    modules: [
      { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "slug", type: "string" }] }] },
    ],
  };
  await createOrb(platform, token, plain);
  const ids: string[] = [];
  for (const slug of FORMS.slice(0, 2)) {
    ids.push((await call("POST", "/api/forms-becoming/news?publish=true", { values: { slug } })).body.id);
  }
  const next = document("forms-becoming");
  expect(await call("PUT", `${path}?publish=true`, next)).toMatchObject({
    status: 409,
    body: { code: "unique_conflict", impact: { duplicates: [{ field: "slug", ids }] } },
  });
  expect((await call("DELETE", `${path}/entries/${ids[0]}`)).status).toBe(204);
  expect((await call("PUT", `${path}?publish=true`, next)).status).toBe(200);
  expect((await call("POST", "/api/forms-becoming/news", { values: { slug: FORMS[0] } })).status).toBe(409);
});
