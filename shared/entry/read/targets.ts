import { mayWith, type Principal } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { readLive } from "../index/index.ts";
import { Targets } from "../query/index.ts";

/**
 * Lets the filters of a list use the values of referenced entries. Excludes entries that are unpublished or that the
 * caller may not read.
 */
export function targetsFor(
  deps: Pick<Deps, "store" | "clock" | "expires">,
  caller: Principal,
  orb: string,
): Targets {
  return new Targets(async (schema, ids, maxBytes) => {
    const wanted = ids.map((id) => ({ schema, id }));
    const found = await readLive(deps, orb, wanted, "stale", maxBytes);
    return new Map(
      found.flatMap((seen) => {
        if (seen === undefined) return [];
        const { access } = seen.schema;
        const mayRead = mayWith(caller, "read", { access, createdBy: seen.head.createdBy });
        return mayRead ? [[seen.address.id, seen.shown] as const] : [];
      }),
    );
  });
}
