/** Compares texts by line, for people. */
import { diffArrays } from "diff/lib/diff/array.js";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
  /** Line number in the older and in the newer text; null if that text lacks the line. */
  at: readonly [number | null, number | null];
}

/** Context lines around a change. */
const AROUND = 3;

/** Maximum number of removed and added lines. Texts with more count as replaced, because comparing them takes long. */
const MOST_LINES = 4_000;

/** Compares two texts by line. */
export function diffLines(from: string, to: string): DiffLine[] {
  const [a, b] = [from.split("\n"), to.split("\n")];
  const changes = diffArrays(a, b, { maxEditLength: MOST_LINES }) ?? [
    { value: a, added: false, removed: true },
    { value: b, added: true, removed: false },
  ];
  const lines: DiffLine[] = [];
  let [old, now] = [0, 0];
  for (const { value, added, removed } of changes)
    for (const text of value) {
      if (!added) old++;
      if (!removed) now++;
      const kind = added ? "added" : removed ? "removed" : "same";
      lines.push({ kind, text, at: [added ? null : old, removed ? null : now] });
    }
  return folded(lines);
}

/** Replaces unchanged lines by gaps, except for a few lines around each change. */
function folded(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") for (let by = -AROUND; by <= AROUND; by++) near.add(at + by);
  const result: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    if (near.has(at)) result.push(line);
    else if (result.at(-1)?.kind !== "gap") result.push({ kind: "gap", text: "", at: [null, null] });
  }
  return result;
}
