/** Matches converted blocks with the stored ones. */
import type { Block } from "./model.ts";

const KEY = "_key";
const TYPE = "_type";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a block as text, without the keys in it. Equal blocks have equal texts. */
function contentOf(block: unknown): string {
  if (!isObject(block)) return "";
  const { style, listItem, level, children, markDefs } = block;
  const links = new Map<unknown, unknown>(
    (Array.isArray(markDefs) ? markDefs : []).map((link: unknown) => {
      const { href, title, reference } = isObject(link) ? link : {};
      const { schema, id } = isObject(reference) ? reference : {};
      return [isObject(link) ? link[KEY] : undefined, JSON.stringify([href, title, schema, id])];
    }),
  );
  const spans = (Array.isArray(children) ? children : []).map((span: unknown) => {
    const { text, marks } = isObject(span) ? span : {};
    return [text, (Array.isArray(marks) ? marks : []).map((mark: unknown) => links.get(mark) ?? mark).sort()];
  });
  return JSON.stringify([block[TYPE], style, listItem, listItem === undefined ? undefined : level, spans]);
}

/**
 * Returns converted blocks with what the stored ones have: the values of components, and the keys of blocks. A block
 * that is unchanged, or changed between two unchanged ones, keeps its key, so that comparisons show the change alone.
 */
export function withStored(
  blocks: readonly Block[],
  before: unknown,
  warn: (message: string) => void,
): Record<string, unknown>[] {
  const stored = (Array.isArray(before) ? before : []).filter(isObject);
  const byContent = Map.groupBy(stored.entries(), ([, block]) => contentOf(block));
  const byKey = new Map(stored.map((block, at) => [block[KEY], at]));
  let next = 0;
  const matched = blocks.flatMap((block): { block: Record<string, unknown>; at: number | undefined }[] => {
    if (block._type === "block") {
      const [at] = byContent.get(contentOf(block))?.find(([one]) => one >= next) ?? [];
      if (at === undefined) return [{ block: { ...block }, at }];
      next = at + 1;
      return [{ block: { ...stored[at] }, at }];
    }
    const at = byKey.get(block._key);
    const own = at === undefined ? undefined : stored[at];
    if (at === undefined || own?.[TYPE] !== block._type) {
      warn(`contains a block of the component ${block._type} that is not stored. It was left out`);
      return [];
    }
    byKey.delete(block._key);
    next = Math.max(next, at + 1);
    return [{ block: { ...own }, at }];
  });
  return matched.map(({ block, at }, index) => {
    if (at !== undefined) return block;
    // The block stands for the stored one behind the block before it, unless that one is another block of the text.
    const previous = index === 0 ? -1 : matched[index - 1]?.at;
    const candidate = previous === undefined ? undefined : previous + 1;
    const old = candidate === undefined ? undefined : stored[candidate];
    if (old === undefined || old[TYPE] !== "block" || matched.some((one) => one.at === candidate))
      return block;
    const own = matched[index];
    if (own !== undefined) own.at = candidate;
    return { ...block, [KEY]: old[KEY] };
  });
}
