/**
 * The only place that decides what a role may do. Every verb calls it. Everything that it does not allow is forbidden.
 */
import { AppError } from "../kernel/errors.ts";
import { type Actor, actorId, type Role } from "./actor.ts";

/** Realm of the users that all orbs without their own realm share. */
export const SHARED_REALM = "auth";
/** Realm of the platform's operators. */
export const PLATFORM_REALM = "platform";

const RANK: Record<Role, number> = { public: 0, user: 1, admin: 2, owner: 3 };

/** Whether `role` has at least the rights of `least`. */
export function atLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** The roles that may read and write the entries of a schema, from its definition. */
export interface SchemaAccess {
  read: "public" | "user" | "own" | "admin";
  write: "user" | "admin" | "owner";
}

/** Operations on the entries of an orb. */
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
] as const;
export type EntryOperation = (typeof ENTRY_OPERATIONS)[number];

/** Operations that only platform admins may do. */
export const PLATFORM_OPERATIONS = [
  "orbs.read",
  "orbs.write",
  "entries.manage",
  "entries.reveal",
  "entries.purge",
  "registry.write",
  "routes.read",
  "streams.write",
  "audit.read",
  "metrics.read",
  "admins.read",
  "admins.write",
  "realm.bootstrap",
] as const;
export type PlatformOperation = (typeof PLATFORM_OPERATIONS)[number];

/**
 * Operations on the accounts of a realm. `target` is the role of the account before or after the change, or of the
 * invitation.
 */
export const REALM_OPERATIONS = [
  "users.read",
  "users.write",
  "invitations.read",
  "invitations.write",
] as const;
export type RealmOperation = (typeof REALM_OPERATIONS)[number];

/** The realm whose users an orb accepts: its own if it uses the service `access`, else the shared one. */
export function realmOf(orb: string, orbUsesAccess: boolean): string {
  return orbUsesAccess ? orb : SHARED_REALM;
}

/** An actor's role in an orb. A platform admin is owner of every orb; a user of another realm counts as anonymous. */
export function roleIn(actor: Actor, orb: string, { usesAccess }: { usesAccess: boolean }): Role {
  return roleInRealm(actor, realmOf(orb, usesAccess));
}

/** An actor's role among the accounts of a realm. */
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

/**
 * Whether a role may do something with an entry.
 * @param on.access the schema's rules
 * @param on.own whether the actor created the entry; for `create`, and for a list as a whole, false
 */
export function may(
  role: Role,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): boolean {
  switch (operation) {
    case "read":
      return mayRead(role, on);
    case "create":
      return on.access.write === "user" ? atLeast(role, "user") : mayWrite(role, on);
    case "readDraft":
    case "readRevisions":
    case "update":
    case "publish":
    case "unpublish":
    case "archive":
    case "restore":
    case "delete":
      return mayWrite(role, on);
    default:
      return false;
  }
}

/**
 * Returns whether an orb user created an entry. False for platform admins and the platform, who do not need
 * ownership.
 */
export function isOwn(actor: Actor, createdBy: string): boolean {
  return actor.kind === "orb" && actorId(actor) === createdBy;
}

/** Whether an actor may do something with one entry of an orb. */
export function mayWith(
  actor: Actor,
  orb: { id: string; usesAccess: boolean },
  operation: EntryOperation,
  { access, createdBy }: { access: SchemaAccess; createdBy: string },
): boolean {
  return may(roleIn(actor, orb.id, orb), operation, { access, own: isOwn(actor, createdBy) });
}

function mayRead(role: Role, { access, own }: { access: SchemaAccess; own: boolean }): boolean {
  switch (access.read) {
    case "public":
      return true;
    case "user":
      return atLeast(role, "user");
    case "own":
      return atLeast(role, "admin") || (own && atLeast(role, "user"));
    case "admin":
      return atLeast(role, "admin");
    default:
      return false;
  }
}

function mayWrite(role: Role, { access, own }: { access: SchemaAccess; own: boolean }): boolean {
  switch (access.write) {
    case "user":
      return atLeast(role, "admin") || (own && atLeast(role, "user"));
    case "admin":
      return atLeast(role, "admin");
    case "owner":
      return role === "owner";
    default:
      return false;
  }
}

/** Whether an actor may perform an operation that is reserved to platform admins and the platform itself. */
export function mayOperate(actor: Actor, operation: PlatformOperation): boolean {
  return PLATFORM_OPERATIONS.includes(operation) && (actor.kind === "platform" || actor.kind === "system");
}

/** Whether a role may manage accounts of its realm: admins manage users; only an owner manages owners and admins. */
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

/** The role that an error message names: a role in the orb, or platform admin. */
export type Needed = Exclude<Role, "public"> | "platform admin";

/**
 * Returns 401 if signing in could give access, 403 if it could not.
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

const MEMBERS = ["user", "admin", "owner"] as const;

/** Returns the error for a forbidden entry operation, with the lowest role that may perform it. */
export function entryRefusal(
  actor: Actor,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): AppError {
  return refusal(
    actor,
    MEMBERS.find((role) => may(role, operation, on)),
  );
}

/** @throws AppError unauthenticated, forbidden */
export function requireMay(
  actor: Actor,
  role: Role,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): void {
  if (!may(role, operation, on)) throw entryRefusal(actor, operation, on);
}

/** @throws AppError unauthenticated, forbidden */
export function requireOperator(actor: Actor, operation: PlatformOperation): void {
  if (!mayOperate(actor, operation)) throw refusal(actor, "platform admin");
}

/** @throws AppError unauthenticated, forbidden */
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
