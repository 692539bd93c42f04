/** Maps what roles of Directus, and people without an account, may do. */
import { equal, isObject } from "../../../../../shared/kernel/json.ts";
import { textIn, textsIn } from "../../model/read-json.ts";
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

/** A collection whose items are part of the entries of another one: its translations, or what connects it to others. */
export interface Part {
  collection: string;
  /** The field that refers to the items of the other collection. */
  back: string;
}

/** The rights to the items of a part that a right to the entries takes. */
const TAKES: Readonly<Record<Act, readonly Act[]>> = {
  read: ["read"],
  create: ["create"],
  update: ["create", "update", "delete"],
  delete: ["delete"],
};

/** Returns under which condition a policy counts that an orb cannot check; undefined if it always counts. */
export function limitOf({ ip_access: addresses, enforce_tfa: isTwofold }: Item): string | undefined {
  const isAnywhere = [null, undefined, ""].some((none) => none === addresses) || equal(addresses, []);
  if (!isAnywhere) return "it counts only at some network addresses";
  return isTwofold === true ? "it asks for a second factor" : undefined;
}

/** Returns permissions together with the limits of their policies. */
export function withLimits(permissions: readonly Item[], policies: readonly Item[]): Item[] {
  const limits = new Map(policies.map((policy) => [String(policy.id), limitOf(policy)]));
  return permissions.map((one) => ({ ...one, policyLimit: limits.get(String(one.policy)) }));
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
      isAdmin: policies.some(
        (one) => own.has(String(one.id)) && one.admin_access === true && limitOf(one) === undefined,
      ),
      permissions: permissions.filter(({ policy }) => own.has(String(policy))),
    };
  });
}

/**
 * Returns the access rules of a collection; undefined if nobody but administrators has a right. Tells the rights to a part
 * of the items or fields, which the orb cannot give.
 * @param parts whose items are part of the entries: rights count only if they are for these, too
 */
export function accessTo(
  collection: string,
  holders: readonly Holder[],
  states: States | undefined,
  losses: Loss[],
  parts: readonly Part[] = [],
): SchemaDefinition["access"] {
  const tell = (at: string, why: string, became: string) =>
    void losses.push({ kind: "model", at: `collection ${collection}, ${at}`, why, became });
  const rights = holders.flatMap(({ name, caller, permissions }): Right[] => {
    const isOpen = caller === "public";
    const own = permissions.filter((one) => one.collection === collection);
    for (const [at, why] of restOf(own)) tell(`${at} for ${name}`, why, "left out");
    return ACTS.flatMap((act): Right[] => {
      const why = whyNot(act, collection, permissions, isOpen ? states : undefined, parts);
      if (why === undefined) {
        const isAlways = own.some((one) => one.action === act && isWhole(one, act, undefined));
        return [{ caller, act, isPublishedOnly: !isAlways }];
      }
      if (why === "") return [];
      tell(
        isOpen && act === "read" ? "what everyone may read" : `${act} for ${name}`,
        why,
        isOpen && act === "read" ? "only admins and roles read" : `${name} may not`,
      );
      return [];
    });
  });
  const isPart =
    collection === "directus_users" ||
    holders.some(({ permissions }) =>
      permissions.some((one) => one.collection === collection && one.action === "read"),
    );
  return accessOf(rights, isPart, ({ caller, act }, why) => {
    const name = holders.find((one) => one.caller === caller)?.name ?? caller;
    tell(`${act} for ${name}`, why, caller === "public" ? "only accounts may" : `${name} may not`);
  });
}

/** Returns the reason why an orb cannot give a right: none if it can, and an empty one if nobody has given it. */
function whyNot(
  act: Act,
  collection: string,
  permissions: readonly Item[],
  states: States | undefined,
  parts: readonly Part[],
): string | undefined {
  const own = permissions.filter((one) => one.collection === collection && one.action === act);
  const [first] = own;
  if (first === undefined) return "";
  if (!own.some((one) => isWhole(one, act, states && [states.field]))) {
    const limit = own.map((one) => textIn(one, "policyLimit")).find((one) => one !== undefined);
    if (limit !== undefined) return `its policy is left out: ${limit}`;
    return `there is no counterpart of ${JSON.stringify([first.permissions, first.fields]).slice(0, 200)}`;
  }
  for (const { collection: part, back } of parts)
    for (const taken of TAKES[act]) {
      const given = permissions.filter((one) => one.collection === part && one.action === taken);
      if (!given.some((one) => isWhole(one, taken, states && [back, states.field])))
        return `the items of ${part} are part of the entries, and ${taken} is not allowed for all of them`;
    }
  return undefined;
}

/** Returns what else permissions say, and why it is not carried. */
function restOf(permissions: readonly Item[]): [string, string][] {
  const told: [string, string][] = [];
  for (const { action, presets } of permissions) {
    const name = String(action);
    if (!ACTS.some((act) => act === name)) told.push([name, "an orb has no such right"]);
    if (isObject(presets) && Object.keys(presets).length > 0)
      told.push([`presets of ${name}`, "an orb has no defaults for single roles"]);
  }
  return told;
}

/**
 * Returns whether a permission is for all fields, and for all items or all that are published.
 * @param state where items say whether they are published
 */
function isWhole(
  { fields, permissions, validation, policyLimit }: Item,
  act: Act,
  state: readonly string[] | undefined,
): boolean {
  if (policyLimit !== undefined) return false;
  const isFree = validation === null || validation === undefined || equal(validation, {});
  const hasAll = act === "delete" || textsIn({ fields }, "fields").includes("*");
  return hasAll && (act === "read" || isFree) && isAll(permissions, state);
}

/** Returns whether a filter lets all items through, or all published ones if `state` says which those are. */
function isAll(filter: unknown, state: readonly string[] | undefined): boolean {
  if (filter === null || filter === undefined) return true;
  if (!isObject(filter)) return false;
  const names = Object.keys(filter);
  if (names.length === 0) return true;
  // Conditions beside a list of conditions count, too.
  const conditions = names.length === 1 && Array.isArray(filter._and) ? filter._and : [filter];
  return state !== undefined && conditions.every((one: unknown) => isPublished(one, state));
}

/** Returns whether a condition asks for what is published, and for nothing else. */
function isPublished(condition: unknown, state: readonly string[]): boolean {
  const [name, ...rest] = state;
  if (name === undefined) return equal(condition, { _eq: "published" });
  if (!isObject(condition) || Object.keys(condition).length !== 1) return false;
  return isPublished(condition[name], rest);
}
