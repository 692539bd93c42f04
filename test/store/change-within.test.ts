/** Lists within change sets. */
import { describe, expect, it } from "vitest";
import { readingIn } from "../../shared/changes/content/within.ts";
import { deleteEntry } from "../../shared/entry/index.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { REQUEST_WORK } from "../../shared/store/budget.ts";
import { fileSets } from "../support/change-sets.ts";
import { admin, callerIn, failureOf, readAs } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

const { deps, orb, context, schema, choice, opened, into, publish, product, create, patch } =
  await fileSets();

describe("a list within a change set", () => {
  it("is refused if it cannot read all entries of the set", async () => {
    const set = await opened();
    await create(set, { day: "2025-05-05" });
    await create(set, { day: "2025-05-05" });
    const within = await readingIn(deps, callerIn(admin, orb), orb, set);
    const pages: typeof within.pages = (given, listWith, query, budget) => {
      const tired: typeof listWith = (fresh) => {
        fresh.work(REQUEST_WORK);
        return listWith(fresh);
      };
      return within.pages(given, tired, query, budget);
    };
    const reading = readAs(admin, orb, schema);
    const query = parseListQuery(new URLSearchParams("filter[day]=2025-05-05"), schema, []);
    const list = (read: typeof within.pages) =>
      listEntries(within.deps, { reading, choice, query, pages: read });
    expect((await list(within.pages)).items).toHaveLength(2);
    expect((await failureOf(list(pages))).code).toBe("too_broad");
  });

  it("equals the list after the publication, in every order and page size", async () => {
    const random = testRandom();
    const set = await opened();
    const ids: string[] = [];
    for (let at = 0; at < 14; at++)
      ids.push(await product({ count: random.below(6), day: "2026-01-01", sku: `l-${at}` }));
    for (const id of ids) {
      const kind = random.below(4);
      if (kind === 0) await patch(set, id, { count: random.below(6), hot: true });
      if (kind === 1) {
        const within = await into(set);
        await deleteEntry(within.deps, admin, { ...context, id, into: within.into });
      }
    }
    for (let at = 0; at < 5; at++)
      await create(set, { count: random.below(6), day: "2026-01-01", hot: at % 2 === 0 });
    const texts = [
      "",
      "sort=count",
      "sort=-count",
      "sort=-createdAt",
      "filter[hot]=true",
      "sort=day,-count",
      "filter[count][gte]=3&sort=-updatedAt",
    ];
    const listed = async (
      text: string,
      limit: number,
      within: Partial<Awaited<ReturnType<typeof readingIn>>>,
    ) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const parameters = new URLSearchParams(`${text}&filter[day]=2026-01-01&limit=${limit}`);
        if (cursor !== null) parameters.set("cursor", cursor);
        const reading = readAs(admin, orb, schema);
        const query = parseListQuery(parameters, schema, []);
        const page = await listEntries(within.deps ?? deps, { reading, choice, query, pages: within.pages });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return found;
    };
    const before = new Map<string, string[]>();
    for (const text of texts)
      for (const limit of [1, 3, 50]) {
        const found = await listed(text, limit, await readingIn(deps, callerIn(admin, orb), orb, set));
        before.set(`${text} ${limit}`, found);
      }
    await publish(set);
    for (const text of texts)
      for (const limit of [1, 3, 50]) {
        const expected = await listed(text, limit, {});
        const shown = before.get(`${text} ${limit}`);
        // The publication updates entries.
        if (text.includes("updatedAt")) expect(shown?.toSorted()).toEqual(expected.toSorted());
        else expect([text, limit, ...(shown ?? [])]).toEqual([text, limit, ...expected]);
      }
  });
});
