/** The window of the console's entry table on a list of any length. */
import { expect, test } from "vitest";
import {
  difference,
  PAGE,
  type ReadPage,
  type Row,
  Rows,
} from "../../functions/console/entries/table/data/rows.ts";

const row = (id: string, revision = 1): Row => ({
  id,
  orb: "shop",
  module: "catalog",
  schema: "product",
  status: "PUBLISHED",
  revision,
  publishedRevision: revision,
  validFrom: null,
  validTo: null,
  createdAt: "",
  createdBy: "",
  updatedAt: "",
  updatedBy: "",
  values: {},
});
const rowsNamed = (...ids: string[]) => ids.map((id) => row(id));

/** A list whose cursor is the id of the last entry before it. */
function listOf(all: Row[]) {
  let reads = 0;
  const rows = new Rows(async (cursor) => {
    reads++;
    const start = cursor === null ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    const items = all.slice(start, start + PAGE);
    return { items, nextCursor: start + PAGE < all.length ? (items.at(-1)?.id ?? null) : null };
  });
  const show = async (first: number) => {
    for (let turn = 0; turn < 3; turn++) {
      rows.ensure(first, first + 30);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { rows, show, reads: () => reads };
}

test("keeps a few pages of a long list in memory, and reads dropped ones again", async () => {
  const { rows, show } = listOf(Array.from({ length: 10_000 }, (_, at) => row(`e${at}`)));
  let most = 0;
  for (let at = 0; at < 9_970; at += 30) {
    await show(at);
    most = Math.max(most, rows.held);
  }
  await show(9_970);
  expect([rows.known, rows.ended]).toEqual([10_000, true]);
  expect(most).toBeLessThanOrEqual(7 * PAGE);
  expect(rows.at(0)).toBeUndefined();
  await show(0);
  expect(rows.at(0)?.id).toBe("e0");
  expect((await rows.range(4_990, 5_010, new AbortController().signal)).map(({ id }) => id)).toEqual(
    Array.from({ length: 20 }, (_, at) => `e${4_990 + at}`),
  );
});

test("reads the pages after a changed page again, so that no entry is missing or appears twice", async () => {
  const all = Array.from({ length: 250 }, (_, at) => row(`e${at}`));
  const { rows, show } = listOf(all);
  for (const at of [0, 100, 200]) await show(at);
  expect(rows.known).toBe(250);
  all.unshift(row("new"));
  rows.refresh();
  for (const at of [0, 100, 200]) await show(at);
  const ids = (await rows.range(0, rows.known, new AbortController().signal)).map(({ id }) => id);
  expect(ids).toEqual(all.map(({ id }) => id));
});

test("counts changed, new and removed entries, but not those that they push to the next page", () => {
  const before = rowsNamed("a", "b", "c", "d");
  expect(difference(before, before)).toBe(0);
  expect(difference(before, [row("a"), row("b", 2), row("c"), row("d")])).toBe(1);
  expect(difference(before, rowsNamed("n", "a", "b", "c"))).toBe(1);
  expect(difference(before, rowsNamed("a", "c", "d", "e"))).toBe(1);
  expect(difference([], rowsNamed("a"))).toBe(1);
});

/** Reads three pages that a search ends early. The cursor counts them, and the second one has the only match. */
const searching: ReadPage = async (cursor, signal) => {
  signal.throwIfAborted();
  const at = Number(cursor ?? 0);
  const items = at === 1 ? [row("a")] : [];
  if (at === 2) return { items, nextCursor: null };
  return { items, nextCursor: String(at + 1), read: { entries: 10_000 } };
};

/** Reads as many pages, one after the other. */
async function readPages(rows: Rows, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    rows.ensure(0, 20);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("counts the entries that a search has compared, and keeps the rows that it found", async () => {
  const rows = new Rows(searching);
  await readPages(rows, 1);
  expect([rows.searched, rows.known, rows.ended]).toEqual([10_000, 0, false]);
  await readPages(rows, 1);
  expect([rows.searched, rows.known, rows.ended]).toEqual([20_000, 1, false]);
  await readPages(rows, 2);
  expect([rows.searched, rows.known, rows.ended, rows.at(0)?.id]).toEqual([0, 1, true, "a"]);
});

test("stops a search, and continues it where it was", async () => {
  const rows = new Rows(searching);
  await readPages(rows, 1);
  rows.ensure(0, 20);
  rows.stop();
  await readPages(rows, 3);
  expect([rows.stopped, rows.busy, rows.searched, rows.error]).toEqual([true, false, 10_000, undefined]);
  rows.retry();
  await readPages(rows, 3);
  expect([rows.ended, rows.known]).toEqual([true, 1]);
});
