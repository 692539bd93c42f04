/** Changes or deletes all entries that match a filter. */
import { queryOf } from "./query.ts";
import type { CallOptions, Request, Transport } from "./transport.ts";
import type { Fields, Filter } from "./types.ts";

/** Selects the entries to change: those that match the filter, or all of them. */
export type Selection<All, S extends Fields> =
  | { filter: Filter<All, S>; all?: never }
  | { all: true; filter?: never };

export interface ManyOptions extends CallOptions {
  /** Whether to write nothing, and only return what would happen. Does not check unique values and hooks. */
  dryRun?: boolean;
}

export interface ManyResult {
  changed: number;
  /** Number of entries that the call would not change. */
  unchanged: number;
  /** Entries that were not changed, each with the reason. */
  failed: {
    id: string;
    status: number;
    code: string;
    detail: string;
    errors?: { path: string; code: string; message: string }[];
  }[];
}

interface Answer extends ManyResult {
  nextCursor: string | null;
}

/**
 * Sends one request per page until no entry is left. After an interruption, the call can be repeated, because the
 * platform skips writes that change nothing.
 */
export async function changeAll(
  transport: Transport,
  request: Pick<Request, "method" | "path" | "body"> & { query: Readonly<Record<string, string>> },
  selection: Selection<unknown, Fields>,
  { dryRun, signal }: ManyOptions,
): Promise<ManyResult> {
  const result: ManyResult = { changed: 0, unchanged: 0, failed: [] };
  let cursor: string | undefined;
  do {
    const query = queryOf("filter" in selection ? { filter: selection.filter, cursor } : { cursor });
    if ("all" in selection) query.set("all", "true");
    if (dryRun === true) query.set("dryRun", "true");
    for (const [name, value] of Object.entries(request.query)) query.set(name, value);
    const { method, path, body } = request;
    const response = await transport.send({ method, path, body, query, signal, repeat: "safe" });
    const page = (await response.json()) as Answer;
    result.changed += page.changed;
    result.unchanged += page.unchanged;
    result.failed.push(...page.failed);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return result;
}
