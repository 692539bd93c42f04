import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let token: string;

const ORB = "origins";
const DOCUMENT = {
  id: ORB,
  modules: [
    {
      id: "blog",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          access: { read: "public" },
          fields: [
            { name: "slug", type: "string", unique: true },
            { name: "title", type: "string" },
            { name: "after", type: "reference", ref: `${ORB}/blog/post` },
          ],
        },
      ],
    },
  ],
};

interface Result {
  id?: string;
  status: number;
  act?: string;
  code?: string;
  detail?: string;
  errors?: { path: string; code: string }[];
}

async function upload(lines: readonly object[], query = "", as = token): Promise<Result[]> {
  const response = await fetch(
    `${platform.origin}/api/admin/orbs/${ORB}/entries/bulk?module=blog&schema=post&${query}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${as}`, "content-type": "application/x-ndjson" },
      body: lines.map((one) => `${JSON.stringify(one)}\n`).join(""),
    },
  );
  expect(response.status).toBe(200);
  const text = await response.text();
  return text
    .trim()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Result);
}

const acts = (results: readonly Result[]) => results.map(({ act, code }) => act ?? code);

async function entry(id = "") {
  return (await call(platform, "GET", `/api/admin/orbs/${ORB}/entries/${id}`, { token })).body;
}

async function history(id = "") {
  const path = `/api/admin/orbs/${ORB}/entries/${id}/revisions`;
  return (await call(platform, "GET", path, { token })).body.items;
}

const PAST = "2019-04-05T06:07:08.000Z";

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: DOCUMENT });
  expect(made.status).toBe(201);
});

describe("lines that say where their entries come from", () => {
  it("store time and author, while the history says who imported the entry, and when", async () => {
    const before = Date.now();
    const line = { values: { title: "Old" }, createdAt: "2019-04-05T08:07:08+02:00", createdBy: "wp-12" };
    const [made] = await upload([{ ...line, validFrom: PAST }]);
    const stored = await entry(made?.id);
    expect(stored).toMatchObject({
      ...{ createdAt: PAST, createdBy: "wp-12", status: "SAVED", validFrom: PAST, revision: 1 },
    });
    expect(Date.parse(stored.updatedAt)).toBeGreaterThanOrEqual(before);
    expect(await history(made?.id)).toMatchObject([
      { revision: 1, operation: "create", by: stored.updatedBy, at: stored.updatedAt, imported: true },
    ]);
    expect(stored.updatedBy).not.toBe("wp-12");
    // Later revisions keep the origin, and are no imports.
    const path = `/api/admin/orbs/${ORB}/entries/${made?.id}`;
    const changed = await call(platform, "PATCH", path, { token, body: { values: { title: "New" } } });
    expect(changed.body).toMatchObject({ createdAt: PAST, createdBy: "wp-12", revision: 2 });
    expect((await history(made?.id))[1].imported).toBeUndefined();
  });

  it("create entries in each state, whatever the upload publishes otherwise", async () => {
    const states = ["SAVED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED"];
    const lines = states.map((status) => ({ values: { title: status }, status }));
    const results = await upload([...lines, { values: { title: "none" } }], "publish=true");
    const stored = await Promise.all(results.map(({ id }) => entry(id)));
    expect(stored.map(({ status }) => status)).toEqual([...states, "PUBLISHED"]);
    expect(stored.map(({ publishedRevision }) => publishedRevision)).toEqual([null, 1, null, null, 1]);
    const shown = await call(platform, "GET", `/api/${ORB}/blog/post?limit=200`);
    const titles = shown.body.items.map(({ values }: { values: { title: string } }) => values.title);
    expect(titles).toContain("PUBLISHED");
    for (const hidden of ["SAVED", "UNPUBLISHED", "ARCHIVED"]) expect(titles).not.toContain(hidden);
    // The states go on as usual.
    const restored = `/api/admin/orbs/${ORB}/entries/${results[3]?.id}/restore`;
    expect((await call(platform, "POST", restored, { token })).body.status).toBe("UNPUBLISHED");
  });

  it("change nothing the second time, and only what differs the third time", async () => {
    const of = (slug: string, more: object) => ({
      values: { slug },
      createdBy: "ann",
      createdAt: PAST,
      ...more,
    });
    const lines = [
      of("a", { status: "PUBLISHED" }),
      of("b", { status: "SAVED" }),
      of("c", { status: "ARCHIVED" }),
      of("d", { status: "PUBLISHED" }),
      of("e", { status: "UNPUBLISHED" }),
    ];
    expect(acts(await upload(lines, "match=slug"))).toEqual(Array(5).fill("created"));
    expect(acts(await upload(lines, "match=slug"))).toEqual(Array(5).fill("unchanged"));
    const next = [
      of("a", { status: "ARCHIVED" }),
      of("b", { status: "PUBLISHED" }),
      of("c", { status: "ARCHIVED", values: { slug: "c", title: "C" } }),
      of("d", { status: "UNPUBLISHED", createdBy: "ben" }),
      of("e", { status: "UNPUBLISHED" }),
    ];
    const dry = await upload(next, "match=slug&dryRun=true");
    expect(dry).toEqual([]);
    const results = await upload(next, "match=slug");
    expect(acts(results)).toEqual(["updated", "updated", "updated", "updated", "unchanged"]);
    const stored = await Promise.all(results.map(({ id }) => entry(id)));
    expect(stored.map(({ status, createdBy }) => [status, createdBy])).toEqual([
      ["ARCHIVED", "ann"],
      ["PUBLISHED", "ann"],
      ["ARCHIVED", "ann"],
      ["UNPUBLISHED", "ben"],
      ["UNPUBLISHED", "ann"],
    ]);
    expect(stored[2].values.title).toBe("C");
    expect(acts(await upload(next, "match=slug"))).toEqual(Array(5).fill("unchanged"));
  });

  it("are refused if they cannot be so, and store nothing", async () => {
    await upload([{ values: { slug: "draft" } }], "match=slug");
    const path = async (line: object) => {
      const [result] = await upload([{ values: { slug: "never" }, ...line }]);
      expect(result?.status).toBe(422);
      return result?.errors?.map(({ path, code }) => `${path} ${code}`).join();
    };
    expect(await path({ createdAt: "2999-01-01T00:00:00Z" })).toBe("/createdAt too_big");
    expect(await path({ createdAt: "2019-02-30T00:00:00Z" })).toBe("/createdAt format");
    expect(await path({ createdAt: null })).toBe("/createdAt type");
    expect(await path({ createdBy: "" })).toBe("/createdBy too_short");
    expect(await path({ createdBy: "x".repeat(201) })).toBe("/createdBy too_long");
    expect(await path({ status: "live" })).toBe("/status enum");
    expect(await path({ status: "SAVED", publish: true })).toBe("/publish not_applicable");
    expect(await path({ updatedAt: PAST })).toBe("/updatedAt unknown_property");
    const never = { values: { slug: "draft" }, status: "UNPUBLISHED" };
    expect(await upload([never], "match=slug")).toMatchObject([{ status: 409, code: "wrong_state" }]);
    expect(await upload([{ values: { slug: "never" } }], "match=slug&on=update")).toMatchObject([
      { status: 404 },
    ]);
  });

  it("do not archive an entry that others refer to", async () => {
    const [target] = await upload([{ values: { slug: "target" } }], "match=slug");
    await upload([{ values: { slug: "refers", after: target?.id } }]);
    const [result] = await upload([{ values: { slug: "target" }, status: "ARCHIVED" }], "match=slug");
    expect(result).toMatchObject({ status: 409, code: "referenced" });
  });

  it("need an API token with the rights of an import", async () => {
    const scopes = [scope(ORB, "read", "write", "publish")];
    const { token: secret } = await createToken(platform, "/api/_auth", token, scopes);
    const [plain, ...others] = await upload(
      [
        { values: { title: "plain" } },
        { values: {}, createdAt: PAST },
        { values: {}, createdBy: "ann" },
        { values: {}, status: "SAVED" },
      ],
      "",
      secret,
    );
    expect(plain?.status).toBe(201);
    expect(others).toHaveLength(3);
    for (const one of others) {
      expect(one).toMatchObject({ status: 403, code: "missing_scope" });
      expect(one.detail).toContain("manage");
    }
  });
});
