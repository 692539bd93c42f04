/** Decides what each role may do. An operation that no rule allows is forbidden. */
import type { Action, Grant, SchemaAccess } from "../definition/document/access.ts";
import { AppError } from "../kernel/errors.ts";
import { type Actor, actorId, anonymous, type Role } from "./actor.ts";

/** Name of the realm (set of accounts) that several applications share. */
export const SHARED_REALM = "auth";
/** Name of the realm (set of accounts) of platform admins. */
export const PLATFORM_REALM = "platform";

const RANK: Record<Role, number> = { public: 0, user: 1, admin: 2, owner: 3 };

/** Returns whether `role` has at least the rights of `least`. */
export function atLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

export const ENTRY_OPERATIONS = [
  "read",
  "readDraft",
  "readRevisions",
  "create",
  "update",
  "publish",
  "unpublish",
  "archive",
  "restore",
  "delete",
  "reveal",
] as const;
export type EntryOperation = (typeof ENTRY_OPERATIONS)[number];

export const PLATFORM_OPERATIONS = [
  "orbs.read",
  "orbs.write",
  "entries.manage",
  "entries.purge",
  "registry.write",
  "routes.read",
  "streams.write",
  "audit.read",
  "metrics.read",
  "admins.read",
  "admins.write",
  "realm.bootstrap",
  "settings.read",
  "settings.write",
] as const;
export type PlatformOperation = (typeof PLATFORM_OPERATIONS)[number];

export const REALM_OPERATIONS = [
  "users.read",
  "users.write",
  "invitations.read",
  "invitations.write",
] as const;
export type RealmOperation = (typeof REALM_OPERATIONS)[number];

/**
 * Returns which accounts an application accepts: its own if it uses the service `access`, otherwise the shared ones.
 */
export function realmOf(orb: string, orbUsesAccess: boolean): string {
  return orbUsesAccess ? orb : SHARED_REALM;
}

/** An actor with its rights in one application. */
export interface Principal {
  actor: Actor;
  role: Role;
}

/** An anonymous caller of any application. */
export const PUBLIC: Principal = { actor: anonymous, role: "public" };

/** Returns the rights of an actor in an application. */
export function principalIn(actor: Actor, orb: string, { usesAccess }: { usesAccess: boolean }): Principal {
  return { actor, role: roleInRealm(actor, realmOf(orb, usesAccess)) };
}

export function roleInRealm(actor: Actor, realm: string): Role {
  switch (actor.kind) {
    case "platform":
    case "system":
      return "owner";
    case "orb":
      return actor.realm === realm && realm !== PLATFORM_REALM ? actor.role : "public";
    default:
      return "public";
  }
}

/** The actions of an access rule that allow each operation. Any one of them is enough. */
const ALLOWED_BY: Record<Exclude<EntryOperation, "reveal">, readonly [Action, ...Action[]]> = {
  read: ["read"],
  readDraft: ["update", "publish"],
  readRevisions: ["update", "publish"],
  create: ["create"],
  update: ["update"],
  publish: ["publish"],
  unpublish: ["publish"],
  archive: ["delete"],
  restore: ["delete"],
  delete: ["delete"],
};

/** Returns the action of an access rule that an operation needs. To read drafts, `publish` is enough too. */
export function allowedBy(operation: EntryOperation): Action {
  return operation === "reveal" ? "read" : ALLOWED_BY[operation][0];
}

/**
 * Returns whether a caller may perform an operation on an entry.
 * @param on.own whether the caller created the entry; false for `create` and for lists
 */
export function may(
  caller: Pick<Principal, "role">,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): boolean {
  const granted = (action: Action) => permits(on.access[action], caller, on.own);
  if (operation === "reveal") return caller.role === "owner" && granted("read");
  return Object.hasOwn(ALLOWED_BY, operation) && ALLOWED_BY[operation].some(granted);
}

function permits(grant: Grant, { role }: Pick<Principal, "role">, own: boolean): boolean {
  return atLeast(role, grant.least) || (grant.own && own && atLeast(role, "user"));
}

/** Returns whether this user created an entry. Returns false for platform admins, who need no ownership. */
export function isOwn(actor: Actor, createdBy: string): boolean {
  return actor.kind === "orb" && actorId(actor) === createdBy;
}

export function mayWith(
  actor: Actor,
  orb: { id: string; usesAccess: boolean },
  operation: EntryOperation,
  { access, createdBy }: { access: SchemaAccess; createdBy: string },
): boolean {
  return may(principalIn(actor, orb.id, orb), operation, { access, own: isOwn(actor, createdBy) });
}

export function mayOperate(actor: Actor, operation: PlatformOperation): boolean {
  return PLATFORM_OPERATIONS.includes(operation) && (actor.kind === "platform" || actor.kind === "system");
}

/**
 * Returns whether a role may manage accounts. Admins manage users; only owners manage owners and admins.
 * @param target role of the affected account
 */
export function mayInRealm(role: Role, operation: RealmOperation, target: Role = "user"): boolean {
  switch (operation) {
    case "users.read":
    case "invitations.read":
      return atLeast(role, "admin");
    case "users.write":
    case "invitations.write":
      return role === "owner" || (role === "admin" && target === "user");
    default:
      return false;
  }
}

/** A role that an error message can ask for. */
export type Needed = Exclude<Role, "public"> | "platform admin";

/**
 * Returns the error for a caller without access: 401 if signing in could give access, otherwise 403.
 * @param needed the lowest role that has access, if it is known
 */
export function refusal(actor: Actor, needed?: Needed): AppError {
  if (actor.kind === "anonymous") {
    const as = needed === "platform admin" ? " as a platform admin" : "";
    return new AppError("unauthenticated", "authentication_required", `This needs you to be signed in${as}.`);
  }
  const why =
    needed === undefined
      ? ""
      : needed === "platform admin"
        ? " It is for platform admins."
        : ` It needs the role ${needed}.`;
  return new AppError("forbidden", "forbidden", `You may not do this.${why}`);
}

/**
 * Returns the error for a valid token whose realm (set of accounts) has no access. It is 403, because clients sign out
 * their user at 401.
 */
export function realmRefusal(realm: string, accepted: readonly string[]): AppError {
  const names = accepted.length === 0 ? "another realm" : `the realm ${accepted.join(" or ")}`;
  const detail = `The token is valid, but it is of the realm ${realm}. Send a token of ${names}.`;
  return new AppError("forbidden", "other_realm", detail);
}

const MEMBERS = ["user", "admin", "owner"] as const;

/** Returns the error for a caller who may not access an entry. The message names the lowest role that may. */
export function entryRefusal(
  actor: Actor,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): AppError {
  return refusal(
    actor,
    MEMBERS.find((role) => may({ role }, operation, on)),
  );
}

/** Throws 401 or 403 if the caller may not perform the operation. */
export function requireMay(
  principal: Principal,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): void {
  if (!may(principal, operation, on)) throw entryRefusal(principal.actor, operation, on);
}

/** Throws 401 or 403 if the actor may not perform the operation. */
export function requireOperator(actor: Actor, operation: PlatformOperation): void {
  if (!mayOperate(actor, operation)) throw refusal(actor, "platform admin");
}

/** Throws 401 or 403 if the actor may not perform the operation. */
export function requireInRealm(
  actor: Actor,
  realm: string,
  operation: RealmOperation,
  target: Role = "user",
): void {
  if (mayInRealm(roleInRealm(actor, realm), operation, target)) return;
  if (realm === PLATFORM_REALM) throw refusal(actor, "platform admin");
  throw refusal(
    actor,
    MEMBERS.find((role) => mayInRealm(role, operation, target)),
  );
}
