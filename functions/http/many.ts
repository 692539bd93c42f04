/** Changes or deletes all entries that match a list's filter. Each request handles one page of them. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { changeMany } from "../../shared/entry/index.ts";
import { AppError, type Fault, invalidParameters } from "../../shared/kernel/errors.ts";
import { escapeSegment, knownParameters } from "../../shared/kernel/faults.ts";
import type { AppEnv } from "../request/context.ts";
import { STATUS } from "./problem.ts";
import { FaultSchema } from "./schemas.ts";

const flag = z.enum(["true", "false"]).optional();

/** Query parameters of requests that change many entries, in addition to filters. */
export const ManyQuery = {
  all: flag.openapi({ description: "`true`: all entries. Required if there is no filter" }),
  dryRun: flag.openapi({ description: "`true`: writes nothing, and answers what would happen" }),
};

export const ManySchema = z
  .object({
    changed: z.int().openapi({ description: "Entries that were changed" }),
    unchanged: z.int().openapi({ description: "Entries that already are as the request wants them" }),
    failed: z
      .array(
        z.object({
          id: z.string(),
          status: z.int().openapi({ description: "HTTP status, as if the entry were changed alone" }),
          code: z.string(),
          detail: z.string(),
          errors: z.array(FaultSchema).optional(),
        }),
      )
      .openapi({ description: "Entries that were not changed" }),
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: "Send it as `cursor` to continue. Null after the last page" }),
    dryRun: z.boolean().optional(),
  })
  .openapi("ManyChanged");

export const MANY =
  "Works on one page of the entries that the filters find among the newest revisions, in order of creation. Repeat the request with `cursor=<nextCursor>` until `nextCursor` is null. Each entry is a write of its own, with the caller's rights. After an interrupted request, repeat it with the same cursor.";

const FLAGS = ["all", "dryRun", "publish", "force"];

const isFilter = (name: string) => name.startsWith("filter[");

/**
 * Error 422 for a request without a filter. Otherwise a client that omits its filter by mistake would change or delete
 * everything.
 */
function filterRequired(): AppError {
  return new AppError(
    "invalid",
    "filter_required",
    "The request does not say which entries. Send filter[id][in]=… or another filter, or all=true for all entries.",
  );
}

/**
 * Returns the list query that selects the entries to change.
 * @param own names of query parameters that configure the change, such as `dryRun`; the result omits them
 * @param others names of query parameters that the result keeps, such as `limit` and `cursor`; it also keeps filters
 */
export function selectionOf(
  c: Context<AppEnv>,
  own: readonly string[],
  others: readonly string[],
): URLSearchParams {
  const given = new URLSearchParams(new URL(c.req.url).search);
  const names = [...new Set(given.keys())];
  const known = [...own, ...others];
  const faults = names.flatMap((name): Fault[] => {
    const path = `/${escapeSegment(name)}`;
    if (!known.includes(name) && !isFilter(name))
      return [{ path, code: "unknown_parameter", message: knownParameters([...known, "filter[field]"]) }];
    const isFlag = !FLAGS.includes(name) || /^(true|false)$/.test(given.get(name) ?? "");
    return isFlag ? [] : [{ path, code: "invalid_value", message: "must be true or false" }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
  if (!names.some(isFilter) && given.get("all") !== "true") throw filterRequired();
  for (const name of own) given.delete(name);
  return given;
}

/**
 * Changes the entries of a page.
 * @param change changes one entry, and returns false if nothing had to change
 */
export async function changePage(
  page: { items: readonly { id: string }[]; nextCursor: string | null },
  dryRun: boolean,
  change: (id: string) => Promise<boolean>,
): Promise<z.infer<typeof ManySchema>> {
  const { failed, ...counts } = await changeMany(
    page.items.map(({ id }) => id),
    change,
  );
  return {
    ...counts,
    failed: failed.map(({ id, error: { kind, code, detail, errors } }) => ({
      id,
      status: STATUS[kind],
      code,
      detail,
      ...(errors === undefined ? {} : { errors }),
    })),
    nextCursor: page.nextCursor,
    ...(dryRun ? { dryRun } : {}),
  };
}
