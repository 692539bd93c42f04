/** Maps what roles of Directus, and people without an account, may do. */
import { equal, isObject } from "../../../../../shared/kernel/json.ts";
import { member, textIn, textsIn } from "../../model/read-json.ts";
import { ACTS, type Act, accessOf, type Right } from "../../model/rights.ts";
import type { Loss, SchemaDefinition } from "../../model/source.ts";
import type { States } from "./states.ts";

type Item = Record<string, unknown>;

/** Someone with permissions: everyone, or a role. */
export interface Holder {
  /** Name in messages. */
  name: string;
  /** `public`, or a role of the orb. */
  caller: string;
  permissions: readonly Item[];
}

/** A role of Directus. */
export interface DirectusRole {
  id: string;
  name: string;
  /** Whether one of its policies allows everything. */
  isAdmin: boolean;
  /** Permissions of its policies, and of those of the roles that it is inside of. */
  permissions: readonly Item[];
}

/** Returns the roles with their permissions. @param access which policies roles have */
export function directusRoles(
  roles: readonly Item[],
  access: readonly Item[],
  policies: readonly Item[],
  permissions: readonly Item[],
): DirectusRole[] {
  const known = new Map(roles.map((role) => [String(role.id), role]));
  const lineOf = (id: string, seen: readonly string[] = []): string[] => {
    const parent = textIn(known.get(id), "parent");
    return parent === undefined || seen.includes(parent) ? [id] : [id, ...lineOf(parent, [...seen, id])];
  };
  return [...known].map(([id, role]) => {
    const line = lineOf(id);
    const own = new Set(
      access.filter((one) => line.includes(String(one.role))).map(({ policy }) => String(policy)),
    );
    return {
      id,
      name: textIn(role, "name") ?? id,
      isAdmin: policies.some((one) => own.has(String(one.id)) && one.admin_access === true),
      permissions: permissions.filter(({ policy }) => own.has(String(policy))),
    };
  });
}

/**
 * Returns the access rules of a collection; undefined if nobody but administrators has a right. Tells the rights to a part
 * of the items or fields, which the orb cannot give.
 */
export function accessTo(
  collection: string,
  holders: readonly Holder[],
  states: States | undefined,
  losses: Loss[],
): SchemaDefinition["access"] {
  const tell = (at: string, why: string, became: string) =>
    void losses.push({ kind: "model", at: `collection ${collection}, ${at}`, why, became });
  const rights = holders.flatMap(({ name, caller, permissions }): Right[] =>
    ACTS.flatMap((act) => {
      const own = permissions.filter((one) => one.collection === collection && one.action === act);
      const [first] = own;
      if (first === undefined) return [];
      const isOpen = caller === "public";
      if (own.some((one) => isWhole(one, act, isOpen ? states : undefined))) return [{ caller, act }];
      tell(
        isOpen && act === "read" ? "what everyone may read" : `${act} for ${name}`,
        `there is no counterpart of ${JSON.stringify([first.permissions, first.fields]).slice(0, 200)}`,
        isOpen && act === "read" ? "only admins and roles read" : `${name} may not`,
      );
      return [];
    }),
  );
  const access = accessOf(rights, (act: Act) =>
    tell(`${act} for everyone`, "people without an account cannot write", "only accounts may"),
  );
  // What only a part of it is open to everyone must not become open as a whole.
  const isPart = holders.some(
    ({ caller, permissions }) =>
      caller === "public" &&
      permissions.some((one) => one.collection === collection && one.action === "read"),
  );
  if (access?.read !== undefined || !(isPart || collection === "directus_users")) return access;
  return { ...access, read: "admin" };
}

/** Returns whether a permission is for all fields, and for all items or all that are published. */
function isWhole({ fields, permissions, validation }: Item, act: Act, states: States | undefined): boolean {
  const isFree = !isObject(validation) || equal(validation, {});
  const hasAll = act === "delete" || textsIn({ fields }, "fields").includes("*");
  return hasAll && (act === "read" || isFree) && isAll(permissions, states);
}

/** Returns whether a filter lets all items through, or all published ones if `states` says which those are. */
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
