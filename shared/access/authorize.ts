/** Decides what each role may do. An operation that no rule allows is forbidden. */
import type { Action, Grant, SchemaAccess } from "../definition/document/access.ts";
import { AppError } from "../kernel/errors.ts";
import { type Actor, actorId, anonymous, type Role } from "./actor.ts";
import {
  type AccountOperation,
  covered,
  type EntryOperation,
  EVERY_ORB,
  type Operation,
  PLATFORM_OPERATIONS,
  type PlatformOperation,
  type RealmOperation,
  requireCovered,
  type Scope,
  scopeIn,
} from "./credentials/operations.ts";

/** Name of the realm (set of accounts) that several applications share. */
export const SHARED_REALM = "auth";
/** Name of the realm (set of accounts) of platform admins. */
export const PLATFORM_REALM = "platform";

const RANK: Record<Role, number> = { public: 0, user: 1, admin: 2, owner: 3 };

/** Returns whether `role` has at least the rights of `least`. */
export function atLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

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
  /** What the caller's API token allows in this application. Missing without a token: the role alone decides. */
  scope?: Scope;
}

/** An anonymous caller of any application. */
export const PUBLIC: Principal = { actor: anonymous, role: "public" };

/** Returns the rights of an actor in an application. */
export function principalIn(actor: Actor, orb: string, { usesAccess }: { usesAccess: boolean }): Principal {
  const role = roleInRealm(actor, realmOf(orb, usesAccess));
  const token = tokenOf(actor);
  return token === undefined ? { actor, role } : { actor, role, scope: scopeIn(token, orb) };
}

function tokenOf(actor: Actor): readonly Scope[] | undefined {
  return "token" in actor ? actor.token?.scopes : undefined;
}

/** Returns the application that a token must name to act on the accounts of a realm, or on its own account. */
export function orbOfRealm(realm: string): string {
  return realm === PLATFORM_REALM || realm === SHARED_REALM ? EVERY_ORB : realm;
}

/**
 * Throws 403 if the caller has sent an API token whose scopes do not allow the operation.
 * @param orb the application; the platform itself if missing
 */
export function requireScope(actor: Actor, operation: Operation, orb: string = EVERY_ORB): void {
  const token = tokenOf(actor);
  if (token !== undefined) requireCovered(scopeIn(token, orb), operation);
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
  caller: Pick<Principal, "role" | "scope">,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): boolean {
  if (!covered(caller.scope, operation)) return false;
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

function operates(actor: Actor, operation: PlatformOperation): boolean {
  return PLATFORM_OPERATIONS.includes(operation) && (actor.kind === "platform" || actor.kind === "system");
}

/** @param orb the affected application; the platform itself if missing */
export function mayOperate(actor: Actor, operation: PlatformOperation, orb: string = EVERY_ORB): boolean {
  const token = tokenOf(actor);
  const scope = token === undefined ? undefined : scopeIn(token, orb);
  return operates(actor, operation) && covered(scope, operation);
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
  const { actor, role, scope } = principal;
  if (!may({ role }, operation, on)) throw entryRefusal(actor, operation, on);
  requireCovered(scope, operation);
}

/**
 * Throws 401 or 403 if the actor may not perform the operation.
 * @param orb the affected application; the platform itself if missing
 */
export function requireOperator(actor: Actor, operation: PlatformOperation, orb?: string): void {
  if (!operates(actor, operation)) throw refusal(actor, "platform admin");
  requireScope(actor, operation, orb);
}

/** An actor with an account. */
type AccountActor = Extract<Actor, { kind: "platform" | "orb" }>;

/** Throws 401 or 403 if the actor may not perform the operation on its own account. */
export function requireOwn(
  actor: Actor,
  realm: string,
  operation: AccountOperation,
): asserts actor is AccountActor {
  if (actor.kind !== "platform" && actor.kind !== "orb") throw refusal(actor);
  requireScope(actor, operation, orbOfRealm(realm));
}

/** Throws 401 or 403 if the actor may not perform the operation. */
export function requireInRealm(
  actor: Actor,
  realm: string,
  operation: RealmOperation,
  target: Role = "user",
): void {
  if (!mayInRealm(roleInRealm(actor, realm), operation, target)) {
    const least = MEMBERS.find((role) => mayInRealm(role, operation, target));
    throw refusal(actor, realm === PLATFORM_REALM ? "platform admin" : least);
  }
  requireScope(actor, operation, orbOfRealm(realm));
}
