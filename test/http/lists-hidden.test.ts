/** Lists and counts of published entries among many that are hidden: drafts, archived, withdrawn and expired ones. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform } from "../support/platform.ts";

const ORB = "hidden-list";
const PATH = `/api/${ORB}/news`;
const DOCUMENT = {
  id: ORB,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          access: { read: "public", write: "admin" },
          fields: [{ name: "title", type: "string" }],
        },
      ],
    },
  ],
};

interface Listed {
  items: { id: string }[];
  nextCursor: string | null;
  total?: number;
  totalExact?: false;
}

test("list and count the visible entries, however many are hidden, and at each time", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  await createOrb(platform, token, DOCUMENT);
  const list = async (query: string): Promise<Listed> => {
    const { status, body } = await call(platform, "GET", `${PATH}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    return body as Listed;
  };
  const allOf = async (query: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor = ""; ; ) {
      const page = await list(`${query}${cursor}`);
      ids.push(...page.items.map(({ id }) => id));
      if (page.nextCursor === null) return ids;
      cursor = `&cursor=${page.nextCursor}`;
    }
  };
  const expectList = async (ids: readonly string[]) => {
    expect(await allOf("limit=7")).toEqual(ids);
    expect(await allOf("limit=7&sort=-createdAt")).toEqual(ids.toReversed());
    const counted = await list("limit=1&count=true");
    expect([counted.total, counted.totalExact]).toEqual([ids.length, undefined]);
  };
  const add = async (more: object, publish: boolean) => {
    const body = { values: { title: "t" }, ...more };
    const made = await call(platform, "POST", `${PATH}${publish ? "?publish=true" : ""}`, { token, body });
    expect(made.status).toBe(201);
    return String(made.body.id);
  };
  const act = async (id: string, act: string) => {
    const path = `/api/admin/orbs/${ORB}/entries/${id}/${act}`;
    expect([act, (await call(platform, "POST", path, { token })).status]).toEqual([act, 200]);
  };

  // The first list begins to build the index. All later ones use it.
  const shown = [await add({}, true)];
  await expectList(shown);
  const opens = Date.now() + 10_000;
  const closes = Date.now() + 22_000;
  const later: string[] = [];
  const expiring: string[] = [];
  const order: string[] = [...shown];
  for (let i = 0; i < 90; i++) {
    const kind = i % 6;
    const window =
      kind === 0
        ? { validFrom: new Date(opens).toISOString() }
        : kind === 1
          ? { validTo: new Date(closes).toISOString() }
          : {};
    const id = await add(window, kind !== 5);
    order.push(id);
    if (kind === 0) later.push(id);
    if (kind === 1) expiring.push(id);
    if (kind === 2) shown.push(id);
    if (kind === 3) await act(id, "archive");
    if (kind === 4) await act(id, "unpublish");
  }
  const visibleAt = (now: number) =>
    order.filter(
      (id) =>
        shown.includes(id) || (later.includes(id) && now >= opens) || (expiring.includes(id) && now < closes),
    );
  // The entries are listed at their times, although nothing is written then.
  for (const time of [opens, closes]) {
    await setTimeout(Math.max(0, time + 1_500 - Date.now()));
    await expectList(visibleAt(Date.now()));
  }
  // A draft beside the published revision changes nothing, and each other write is counted at once.
  const [first = "", second = "", third = ""] = shown;
  await call(platform, "PUT", `${PATH}/${first}`, { token, body: { values: { title: "draft" } } });
  await expectList(visibleAt(Date.now()));
  await act(second, "unpublish");
  shown.splice(1, 1);
  await expectList(visibleAt(Date.now()));
  const purge = `/api/admin/orbs/${ORB}/entries/${third}?purge=true`;
  expect((await call(platform, "DELETE", purge, { token })).status).toBe(204);
  shown.splice(1, 1);
  await expectList(visibleAt(Date.now()));
  await act(second, "publish");
  shown.splice(1, 0, second);
  await expectList(visibleAt(Date.now()));
});
