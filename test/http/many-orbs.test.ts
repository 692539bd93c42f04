/** Answers about all orbs keep their size when there are many orbs. */
import { beforeAll, expect, test } from "vitest";
import type { ApiDocument } from "../../functions/discovery/document.ts";
import type { OrbView } from "../../functions/discovery/overview-schemas.ts";
import { adminToken, call } from "../support/auth.ts";
import { activeRoutes } from "../support/described.ts";
import { createOrb, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

const MANY = 24;
const idOf = (i: number) => `many-${String(i).padStart(3, "0")}`;
const ids = Array.from({ length: MANY }, (_, i) => idOf(i));

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  for (const id of ids) await createOrb(platform, token, small(id));
});

const openapi = async () => (await call(platform, "GET", "/api/openapi")).body as ApiDocument;

interface OverviewPage {
  orbs: OrbView[];
  nextCursor: string | null;
}

/** Reads all pages of the overview. */
async function overview(limit: number): Promise<OverviewPage[]> {
  const pages: OverviewPage[] = [];
  for (let cursor: string | null = ""; cursor !== null; cursor = pages.at(-1)?.nextCursor ?? null) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    pages.push((await call(platform, "GET", `/api/discovery?limit=${limit}${more}`)).body as OverviewPage);
  }
  return pages;
}

const sizeOf = (value: unknown) => JSON.stringify(value).length;

test("the description of the platform lists an orb in at most 150 bytes, and does not describe it", async () => {
  const before = await openapi();
  await createOrb(platform, token, small("many-last"));
  const after = await openapi();
  expect(sizeOf(after) - sizeOf(before)).toBeLessThan(150);
  expect(after["x-orbs"]?.map(({ id }) => id)).toEqual([
    ...(before["x-orbs"] ?? []).map(({ id }) => id).filter((id) => id < "many-last"),
    "many-last",
    ...(before["x-orbs"] ?? []).map(({ id }) => id).filter((id) => id > "many-last"),
  ]);
  expect(Object.keys(after.paths).filter((path) => path.startsWith("/api/many-"))).toEqual([]);
  for (const { openapi: link, id } of (after["x-orbs"] ?? []).slice(0, 3)) {
    const { status, body } = await call(platform, "GET", link);
    expect([link, status]).toEqual([link, 200]);
    expect(Object.keys(body.paths)).toContain(`/api/${id}/signin`);
  }
});

test("no answer about all orbs is larger than its page, whatever the number of orbs", async () => {
  const paths = [
    ["/api/discovery?limit=5", "orbs", 5],
    ["/api/admin/routes?limit=5", "items", 5],
    ["/api/admin/orbs?limit=5", "items", 5],
  ] as const;
  for (const [path, member, most] of paths) {
    const { status, body } = await call(platform, "GET", path, { token });
    expect([path, status, body[member].length, typeof body.nextCursor]).toEqual([path, 200, most, "string"]);
  }
});

test("the pages of the overview have each orb once, in order of their ids", async () => {
  for (const limit of [1, 7, 200]) {
    const pages = await overview(limit);
    const listed = pages.flatMap(({ orbs }) => orbs.map(({ id }) => id));
    expect(listed).toEqual([...new Set(listed)].sort());
    expect(listed).toEqual(expect.arrayContaining(ids));
    expect(pages.every(({ orbs }) => orbs.length <= limit)).toBe(true);
  }
});

test("the pages of the routes have each route once, also if a page ends within an orb", async () => {
  const whole = await activeRoutes(platform, token, idOf(3));
  expect(whole.length).toBeGreaterThan(10);
  for (const limit of [1, 4, whole.length]) {
    expect(await activeRoutes(platform, token, idOf(3), limit)).toEqual(whole);
  }
  const first = (await call(platform, "GET", "/api/admin/routes?limit=1000", { token })).body;
  const orbs = first.items.map(({ orb }: { orb: string }) => orb);
  expect(orbs).toEqual([...orbs].sort());
});

test("shows a publication, an end of publication and a deletion at once", async () => {
  const listed = async () => {
    const pages = await overview(200);
    const found = pages.flatMap(({ orbs }) => orbs.map(({ id }) => id));
    expect(((await openapi())["x-orbs"] ?? []).map(({ id }) => id)).toEqual(found);
    return found;
  };
  const path = "/api/admin/orbs/many-late";
  expect(await listed()).not.toContain("many-late");
  await createOrb(platform, token, small("many-late"));
  expect(await listed()).toContain("many-late");
  await call(platform, "POST", `${path}/unpublish`, { token });
  expect(await listed()).not.toContain("many-late");
  await call(platform, "POST", `${path}/publish`, { token });
  expect(await listed()).toContain("many-late");
  await call(platform, "DELETE", path, { token });
  expect(await listed()).not.toContain("many-late");
});

test.each(["/api/discovery", "/api/admin/routes"])("%s refuses a cursor of another list", async (path) => {
  for (const cursor of ["nonsense", btoa("other:shop:0").replace(/=+$/, "")]) {
    const { status, body } = await call(platform, "GET", `${path}?cursor=${cursor}`, { token });
    expect([status, body.code]).toEqual([400, "invalid_cursor"]);
  }
});
