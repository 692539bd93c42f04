/** Maps what Directus lets people without an account read. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { member, textsIn } from "../../model/read-json.ts";
import type { Loss } from "../../model/source.ts";
import type { States } from "./states.ts";

type Item = Record<string, unknown>;

/** Returns `public` if everyone may read what is published, `admin` for less, and undefined for nothing. */
export function readersOf(
  collection: string,
  permissions: readonly Item[],
  states: States | undefined,
  losses: Loss[],
): "public" | "admin" | undefined {
  const own = permissions.filter((one) => one.collection === collection && one.action === "read");
  const [first] = own;
  if (first === undefined) return collection === "directus_users" ? "admin" : undefined;
  const isWhole = own.some((one) => textsIn(one, "fields").includes("*") && isAll(one.permissions, states));
  if (isWhole) return "public";
  losses.push({
    ...{ kind: "model", at: `collection ${collection}, what everyone may read`, became: "only admins read" },
    why: `there is no counterpart of ${JSON.stringify([first.permissions, first.fields]).slice(0, 200)}`,
  });
  return "admin";
}

/** Returns whether a filter lets all published items through. */
function isAll(filter: unknown, states: States | undefined): boolean {
  if (!isObject(filter) || Object.keys(filter).length === 0) return true;
  const conditions = Array.isArray(filter._and) ? filter._and : [filter];
  return (
    states !== undefined &&
    conditions.every(
      (one: unknown) =>
        isObject(one) && Object.keys(one).length === 1 && member(one, states.field, "_eq") === "published",
    )
  );
}
