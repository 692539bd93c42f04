/** Finds the entries that are in no place of a tree, in which each entry refers to its parent. */
import type { EntryItem } from "../../../api/entries.ts";
import { type FieldModel, pointerIn } from "../../../model/orb.ts";

/** Returns the id of the entry that another one is below. */
export const parentOf = (field: FieldModel, item: EntryItem): string | undefined =>
  pointerIn(field, item.values[field.name])?.id;

/** An entry outside of the tree: its parent is gone, or it is above itself. */
export interface Line {
  item: EntryItem;
  why: "gone" | "ring";
}

/** Returns the entries that no entry of the top level leads to, without those below them. */
export function outsideIn(field: FieldModel, items: readonly EntryItem[], complete: boolean): Line[] {
  const known = new Map(items.map((item) => [item.id, item]));
  const ringed = new Set<string>();
  const lines: Line[] = [];
  for (const item of items) {
    const parent = parentOf(field, item);
    if (parent === undefined) continue;
    if (!known.has(parent)) {
      // The parent may be among the entries that were not read.
      if (complete) lines.push({ item, why: "gone" });
      continue;
    }
    if (ringed.has(item.id)) continue;
    const passed = new Set<string>();
    let at: EntryItem | undefined = item;
    while (at !== undefined && !passed.has(at.id)) {
      passed.add(at.id);
      const above = parentOf(field, at);
      at = above === undefined ? undefined : known.get(above);
    }
    // The walk came back to where it began, so the entry is in a circle. One entry of the circle is enough to open it.
    if (at?.id === item.id) {
      for (const id of passed) ringed.add(id);
      lines.push({ item, why: "ring" });
    }
  }
  return lines;
}
