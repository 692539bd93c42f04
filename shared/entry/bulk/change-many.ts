/** Changes many entries, with one write per entry. */

import { AppError, type ErrorKind, invalid } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { readWindow } from "../values/index.ts";

export interface EntryPatch {
  values?: unknown;
  validFrom?: unknown;
  validTo?: unknown;
}

export interface ManyChanged {
  changed: number;
  /** Number of entries that the request would not change. */
  unchanged: number;
  failed: { id: string; error: AppError }[];
}

/**
 * Throws if the patch has errors that do not depend on the entry. Such a request must fail even if it matches no entry.
 */
export function requirePatch({ values, validFrom, validTo }: EntryPatch): void {
  const { faults } = readWindow({ validFrom, validTo }, { validFrom: null, validTo: null });
  if (values !== undefined && !isObject(values))
    faults.unshift({ path: "/values", code: "type", message: "must be an object" });
  if (faults.length > 0) throw invalid(faults);
}

/** Maximum number of concurrent writes. */
const AT_ONCE = 8;

/**
 * Kinds of errors that concern a single entry only. Any other error, such as an exhausted quota, would also stop the
 * changes of the following entries.
 */
const OF_ONE_ENTRY: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  "forbidden",
  "not_found",
  "conflict",
  "gone",
  "precondition",
  "invalid",
  "too_large",
]);

/**
 * Changes entries in order, up to eight at the same time.
 * @param change changes one entry, and returns whether there was anything to change
 * @throws the first error that concerns more than one entry. The entries before it stay changed. The caller may repeat
 *   the whole call.
 */
export async function changeMany(
  ids: readonly string[],
  change: (id: string) => Promise<boolean>,
): Promise<ManyChanged> {
  const result: ManyChanged = { changed: 0, unchanged: 0, failed: [] };
  const tried = async (id: string) => {
    try {
      return await change(id);
    } catch (error) {
      if (error instanceof AppError && OF_ONE_ENTRY.has(error.kind)) return error;
      throw error;
    }
  };
  const done = await mapInParallel(ids, tried, AT_ONCE);
  for (const [index, outcome] of done.entries()) {
    if (outcome instanceof AppError) result.failed.push({ id: ids[index] ?? "", error: outcome });
    else if (outcome) result.changed++;
    else result.unchanged++;
  }
  return result;
}
