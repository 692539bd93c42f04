/** Parses Markdown pages that a test runs. `test/docs/README.md` describes their syntax. */
import { expect } from "vitest";

/** A fenced block, or an instruction to the test that stands alone. */
export interface Block {
  /** The fence's language; `action` for an instruction without a block. */
  language: string;
  text: string;
  line: number;
  /** Instructions from the comment above the fence, by their first word. */
  test: Map<string, string>;
}

/** The parts of a page that its test runs, in order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  let pending: { test: Map<string, string>; line: number } | undefined;
  const flush = () => {
    if (pending !== undefined) blocks.push({ language: "action", text: "", ...pending });
    pending = undefined;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const comment = /^\s*<!-- test: (.*?) -->$/.exec(line);
    if (comment !== null) {
      flush();
      const words = (comment[1] ?? "").split("; ").map((part) => /^(\S+)\s*(.*)$/.exec(part) ?? []);
      pending = { test: new Map(words.map(([, key = "", value = ""]) => [key, value])), line: at + 1 };
      continue;
    }
    const fence = /^(\s*)```(\w+)$/.exec(line);
    if (fence === null) {
      flush();
      continue;
    }
    const [, indent = "", language = ""] = fence;
    const start = at + 1;
    while (lines[at + 1] !== undefined && lines[at + 1]?.trim() !== "```") at++;
    const text = lines
      .slice(start, ++at)
      .map((one) => (one.startsWith(indent) ? one.slice(indent.length) : one));
    blocks.push({ language, text: `${text.join("\n")}\n`, line: start, test: pending?.test ?? new Map() });
    pending = undefined;
  }
  flush();
  return blocks;
}

/** Matches any value in an answer of a page. */
export const ANY = "…";
/** Compares a response with the one on a page. Members that the page omits, or shows as "…", may have any value. */
export function matches(actual: unknown, shown: unknown): boolean {
  if (shown === ANY) return true;
  if (typeof shown === "string" && shown.includes(ANY)) {
    const parts = shown.split(ANY).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    return typeof actual === "string" && new RegExp(`^${parts.join(".*")}$`, "s").test(actual);
  }
  if (Array.isArray(shown)) {
    const open = shown.at(-1) === ANY;
    const listed = open ? shown.slice(0, -1) : shown;
    return (
      Array.isArray(actual) &&
      (open ? actual.length >= listed.length : actual.length === listed.length) &&
      listed.every((item, at) => matches(actual[at], item))
    );
  }
  if (typeof shown === "object" && shown !== null) {
    if (typeof actual !== "object" || actual === null) return false;
    return Object.entries(shown).every(([key, value]) => matches(Reflect.get(actual, key), value));
  }
  return Object.is(actual, shown);
}

/** Returns the member of a value at a path such as `items.0.id`. */
export function member(value: unknown, path: string): string {
  let found = value;
  for (const key of path.split(".")) {
    found = typeof found === "object" && found !== null ? Reflect.get(found, key) : undefined;
  }
  expect(found, `the answer has no ${path}: ${JSON.stringify(value)}`).toBeDefined();
  return String(found);
}
