/** Reads entries from a file, and creates them one by one. */
import { createEntry, type EntryChange, type EntryPlace } from "../../../api/entries.ts";
import { t } from "../../../texts/t.ts";

/** An entry from a file. `number` is its line number, or its position in a JSON list. */
export interface Line {
  number: number;
  change: EntryChange;
}

export interface Failure {
  number: number;
  error: unknown;
}

/** Maximum concurrent requests. */
const AT_ONCE = 4;

type Members = Readonly<Record<string, unknown>>;
const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const timeOf = (value: unknown) => (typeof value === "string" ? value : null);

/**
 * Converts a line of a file to a change. Accepts an exported entry, or only its values. Omits sensitive fields, because
 * exports contain masks instead of their values.
 */
function changeOf(one: Members, sensitive: ReadonlySet<string>): EntryChange {
  const given = isMembers(one.values) ? one.values : one;
  const values = Object.fromEntries(Object.entries(given).filter(([name]) => !sensitive.has(name)));
  if (given === one) return { values };
  return { values, validFrom: timeOf(one.validFrom), validTo: timeOf(one.validTo) };
}

/**
 * Returns the entries of a file that contains JSON Lines or a JSON list.
 * @param sensitive names of the fields whose values exports mask
 * @throws Error with the number of the first line that contains no entry
 */
export function readLines(text: string, sensitive: ReadonlySet<string>): Line[] {
  const found: [number, unknown][] = [];
  if (text.trimStart().startsWith("[")) {
    try {
      const list = JSON.parse(text) as unknown[];
      for (const [at, one] of list.entries()) found.push([at + 1, one]);
    } catch {
      throw new Error(t("table.importNoList"));
    }
  } else
    for (const [at, line] of text.split("\n").entries()) {
      if (line.trim() === "") continue;
      try {
        found.push([at + 1, JSON.parse(line)]);
      } catch {
        throw new Error(t("table.importNoJson", { number: at + 1 }));
      }
    }
  return found.map(([number, one]) => {
    if (!isMembers(one)) throw new Error(t("table.importNoJson", { number }));
    return { number, change: changeOf(one, sensitive) };
  });
}

/** Creates entries, and returns those that failed, in the order of the file. */
export async function createAll(
  place: EntryPlace,
  lines: readonly Line[],
  options: { publish: boolean; signal: AbortSignal; onDone: (count: number) => void },
): Promise<Failure[]> {
  const waiting = [...lines];
  const failed: Failure[] = [];
  let done = 0;
  const work = async () => {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      if (options.signal.aborted) return;
      try {
        await createEntry(place, line.change, options.publish);
      } catch (error) {
        failed.push({ number: line.number, error });
      }
      options.onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed.sort((a, b) => a.number - b.number);
}
