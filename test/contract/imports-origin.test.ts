/** Exports entries with their dates, authors and states with the command `orb`, and imports the files again. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";

const ORB = "originals";
const FORMATS = ["csv", "ndjson"] as const;

const document = {
  id: ORB,
  modules: [
    {
      id: "blog",
      type: "CONTENT",
      schemas: ["post", ...FORMATS.map((format) => `copy-${format}`)].map((id) => ({
        id,
        fields: [
          { name: "slug", type: "string", unique: true },
          { name: "title", type: "string" },
        ],
      })),
    },
  ],
};

test("exports come back with the same dates, authors and states with --keep, and without it as new drafts", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = await orbCommand(platform.origin, token);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status).toBe(201);
  const lines = ["SAVED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED"].map((status, at) => ({
    values: { slug: status, title: `Title ${at}` },
    ...{ status, createdAt: `200${at}-01-02T03:04:05.000Z`, createdBy: `author ${at}` },
    ...(status === "SAVED" ? { validFrom: "2030-01-01T00:00:00.000Z" } : {}),
  }));
  const importing = (schema: string, path: string, ...more: string[]) =>
    orb.run("entries", "import", ORB, `blog/${schema}`, path, ...more);
  const all = orb.file("all.ndjson", lines.map((one) => JSON.stringify(one)).join("\n"));
  expect(await importing("post", all, "--keep")).toMatchObject({ code: 0, err: "" });
  // A draft that is newer than what is published.
  const published = `/api/admin/orbs/${ORB}/entries?module=blog&schema=post&filter[slug]=PUBLISHED`;
  const [{ id }] = (await call(platform, "GET", published, { token })).body.items;
  const change = { values: { title: "Newer" } };
  await call(platform, "PATCH", `/api/admin/orbs/${ORB}/entries/${id}`, { token, body: change });

  const stored = async (schema: string) => {
    const path = `/api/admin/orbs/${ORB}/entries?module=blog&schema=${schema}&limit=200`;
    const { body } = await call(platform, "GET", path, { token });
    const { items }: { items: Record<string, unknown>[] } = body;
    return items.map(({ values, status, createdAt, createdBy, validFrom }) => ({
      ...{ values, status, createdAt, createdBy, validFrom },
    }));
  };
  const expected = (await stored("post")).map((one) =>
    one.status === "PUBLISHED" ? { ...one, status: "SAVED" } : one,
  );
  expect(expected.map(({ createdBy }) => createdBy)).toEqual(lines.map(({ createdBy }) => createdBy));
  for (const format of FORMATS) {
    const path = orb.file(`posts.${format}`, "");
    const exported = await orb.run("entries", "export", ORB, "blog/post", "--out", path, "--format", format);
    expect(exported).toMatchObject({ code: 0, err: expect.stringContaining("1 of them have a draft") });
    expect(readFileSync(path, "utf8")).toContain("author 3");
    const copy = `copy-${format}`;
    // Lines of JSON name their schema.
    orb.file(
      `posts.${format}`,
      readFileSync(path, "utf8").replaceAll('"schema":"post"', `"schema":"${copy}"`),
    );
    expect(await importing(copy, path, "--keep", "--match", "slug")).toMatchObject({ code: 0, err: "" });
    expect(await stored(copy)).toEqual(expected);
    const again = await importing(copy, path, "--keep", "--match", "slug");
    expect(again.out).toContain("changed 0, left 4 as they are");
  }
  const { code, err } = await importing(
    "copy-csv",
    orb.file("new.csv", "slug,status,createdBy\nnew,PUBLISHED,me\n"),
  );
  expect([code, err]).toEqual([0, expect.stringContaining("Left out status, createdBy. To store them")]);
  expect((await stored("copy-csv")).at(-1)).toMatchObject({ status: "SAVED", values: { slug: "new" } });
  const mixed = orb.file("mixed.csv", "slug,createdAt\nx,2020-01-01T00:00:00Z\ny,2010-01-01T00:00:00Z\n");
  expect((await importing("copy-csv", mixed, "--keep")).err).toContain("not in the order of createdAt");
});
