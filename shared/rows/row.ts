/** A row of a file: the JSON text of a new entry. */
import { canonical } from "../kernel/json.ts";

export interface Row {
  /** Number of the row's first line in the file; in a JSON list, the position of the entry. */
  line: number;
  /** Members of the entry, such as `values`, each as JSON text. */
  members: ReadonlyMap<string, string>;
}

/** Returns the JSON text of a row's entry, with further members. */
export function textOf({ members }: Row, more: Readonly<Record<string, unknown>> = {}): string {
  const parts = [...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  for (const [name, value] of Object.entries(more))
    if (value !== undefined && !members.has(name))
      parts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${parts.join(",")}}`;
}

/**
 * Returns a function that returns the idempotency key of each row. The key depends on the content of the row, and on
 * how many equal rows come before it. So a file that is corrected and imported again writes only the rows that are not
 * stored yet.
 * @param scope identifies the import: rows with equal content in two imports have different keys
 */
export function rowKeys<T extends string | Promise<string>>(
  scope: string,
  hash: (text: string) => T,
): (row: Row) => T {
  const counts = new Map<string, number>();
  return (row) => {
    const content = canonical(JSON.parse(textOf(row)));
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    return hash(JSON.stringify([scope, content, count]));
  };
}
