/** Arranges the marks of spans, which may overlap, as elements inside each other. */
import type { TextBlock } from "./model.ts";

/** Text, or a mark around texts and further marks. */
export type Node = { text: string } | { mark: string; inner: Node[] };

/**
 * Returns the content of a block as a tree. A mark that goes on for longer is outside of the others.
 * @param last marks that must be inside of all others
 */
export function treeOf({ children, markDefs }: TextBlock, last: readonly string[] = []): Node[] {
  const links = new Set(markDefs.map(({ _key }) => _key));
  const rank = (mark: string) => (last.includes(mark) ? 1 : 0);
  const root: Node[] = [];
  let open: { mark: string; inner: Node[] }[] = [];
  const runs = runsOf(children);
  for (const [at, { text, marks }] of children.entries()) {
    const length = (mark: string) => runs[at]?.get(mark) ?? 0;
    const sorted = [...new Set(marks)].sort(
      (a, b) =>
        rank(a) - rank(b) ||
        length(b) - length(a) ||
        Number(links.has(b)) - Number(links.has(a)) ||
        marks.indexOf(a) - marks.indexOf(b),
    );
    // Marks stay open as long as the next span has them, too. A mark inside of one that ends must end with it.
    const kept = open.findIndex(({ mark }) => !sorted.includes(mark));
    if (kept >= 0) open = open.slice(0, kept);
    // Open a mark that must be outside of the open ones by closing these.
    const fresh = sorted.filter((mark) => !open.some((one) => one.mark === mark));
    const outer = open.findIndex((one) => fresh.some((mark) => rank(mark) < rank(one.mark)));
    if (outer >= 0) open = open.slice(0, outer);
    for (const mark of sorted) {
      if (open.some((one) => one.mark === mark)) continue;
      const node = { mark, inner: [] };
      (open.at(-1)?.inner ?? root).push(node);
      open.push(node);
    }
    (open.at(-1)?.inner ?? root).push({ text });
  }
  return root;
}

/** Returns for each span how many spans, from this one on, have each of its marks. */
function runsOf(children: TextBlock["children"]): ReadonlyMap<string, number>[] {
  const runs: Map<string, number>[] = [];
  let next: ReadonlyMap<string, number> = new Map();
  for (const { marks } of children.toReversed()) {
    const run = new Map(marks.map((mark) => [mark, (next.get(mark) ?? 0) + 1]));
    runs.push(run);
    next = run;
  }
  return runs.reverse();
}
