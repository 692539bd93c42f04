/** Which entries of a tree no entry of the top level leads to. */
import { expect, test } from "vitest";
import type { EntryItem } from "../../functions/console/api/entries.ts";
import { outsideIn } from "../../functions/console/entries/table/data/outside.ts";

const field = { name: "parent", type: "reference", ref: "shop/catalog/category" } as const;
const item = (id: string, parent: string | null) => ({ id, values: { parent } }) as unknown as EntryItem;
const found = (items: EntryItem[], complete = true) =>
  outsideIn(field, items, complete).map(({ item: { id }, why }) => `${id} ${why}`);

test("tells entries whose parent is gone, and one entry of each circle", () => {
  const items = [
    ...[item("root", null), item("child", "root"), item("lost", "nowhere"), item("below-lost", "lost")],
    ...[item("a", "b"), item("b", "c"), item("c", "a"), item("below-circle", "a"), item("own", "own")],
  ];
  expect(found(items)).toEqual(["lost gone", "a ring", "own ring"]);
});

test("does not say that a parent is gone while not all entries were read", () => {
  expect(found([item("child", "unread"), item("a", "a")], false)).toEqual(["a ring"]);
});
