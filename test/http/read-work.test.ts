/** A request that compares too much text ends its page early, whatever it reads. Pages are counted, not time. */
import { beforeAll, expect, test } from "vitest";
import { REQUEST_WORK } from "../../shared/store/budget.ts";
import { adminToken, call } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
const LENGTH = 400_000;
const ENTRIES = 12;
const needle = `${"a".repeat(299)}b`;

beforeAll(async () => {
  platform = await sharedPlatform();
  const token = await adminToken(platform);
  const fields = [
    { name: "body", type: "text", search: true },
    { name: "size", type: "integer" },
  ];
  await createOrb(platform, token, {
    id: "work",
    modules: [
      {
        id: "long",
        type: "CONTENT",
        schemas: [{ id: "text", access: { read: "public", write: "admin" }, fields }],
      },
    ],
  });
  for (let i = 0; i < ENTRIES; i++) {
    const body = "a".repeat(LENGTH) + (i === ENTRIES - 1 ? needle : "");
    const values = { body, size: i };
    const made = await call(platform, "POST", "/api/work/long?publish=true", { token, body: { values } });
    expect(made.status).toBe(201);
  }
});

/** Twenty conditions of which one has to hold, so that each is compared with every text that does not match. */
const ANY = Array.from(
  { length: 20 },
  (_, i) => `filter[or][${i}][body][contains]=${needle}${i === 19 ? "" : i}`,
).join("&");
/** Each text is converted once, and then searched for each condition. */
const NEEDED = Math.floor((21 * LENGTH * ENTRIES) / REQUEST_WORK);

test.each(["", "&sort=size", "&count=true"])(
  "ends pages early that compare long texts with many conditions%s",
  async (more) => {
    const found: number[] = [];
    let pages = 0;
    for (let cursor: string | null = ""; cursor !== null && pages < 100; pages++) {
      const next: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await call(platform, "GET", `/api/work/long?fields=size&${ANY}${more}${next}`);
      expect(status).toBe(200);
      found.push(...body.items.map((item: { values: { size: number } }) => item.values.size));
      cursor = body.nextCursor;
      if (more === "&count=true" && pages === 0) expect(body.totalExact).toBe(false);
    }
    expect(found).toEqual([ENTRIES - 1]);
    expect(pages).toBeGreaterThan(NEEDED - 1);
  },
);

test("aggregates and changes of many work page by page too", async () => {
  const first = await call(platform, "GET", `/api/work/long?aggregate[n]=count&${ANY}`);
  expect([first.status, first.body.complete]).toEqual([200, false]);
  const one = await call(platform, "GET", `/api/work/long?fields=size&filter[body][contains]=${needle}`);
  expect([one.status, one.body.items.length, one.body.nextCursor]).toEqual([200, 1, null]);
});
