/** Loads lines into the orb `shop`, for tests of uploads. */
import { type BulkResult, bulkWrite } from "../../shared/entry/index.ts";
import { admin, type fileOrb } from "./entries.ts";

type Shop = Awaited<ReturnType<typeof fileOrb>>;
type Lines = readonly (object | string)[];

/** Returns a note of the orb `shop`. @param more further members of the line */
export const note = (text: string, more: object = {}) => ({
  module: "catalog",
  schema: "note",
  values: { text },
  ...more,
});

/** Returns the id of the entry that a line wrote, or an empty text. */
export const idOf = (result: BulkResult | undefined) =>
  result !== undefined && "snapshot" in result ? result.snapshot.id : "";

/** Returns the lines of an upload. A text is a line as it is. */
export async function* linesOf(values: Lines): AsyncGenerator<string> {
  for (const value of values) yield typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns functions that upload lines. `loadBy` also takes other dependencies, and a list that gets each result at once. */
export function loading(deps: Shop["deps"], orb: Shop["orb"]) {
  async function loadBy(
    by: typeof deps,
    values: Lines,
    more: object,
    results: BulkResult[] = [],
  ): Promise<BulkResult[]> {
    const lines = linesOf(values);
    const input = { orbId: "shop", orb, lines, parse: (line: string) => JSON.parse(line), ...more };
    for await (const result of bulkWrite(by, admin, input)) results.push(result);
    return results;
  }
  return { loadBy, load: (values: Lines, more: object = {}) => loadBy(deps, values, more) };
}
