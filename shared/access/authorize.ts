/** Decides what each role may do. An operation that no rule allows is forbidden. */
import {
  ACT_OF,
  type Act,
  type Action,
  type FieldAccess,
  type Grant,
  type SchemaAccess,
} from "../definition/document/index.ts";
import type { AppError } from "../kernel/errors.ts";
import {
  type AccountActor,
  type AccountRole,
  type Actor,
  accountBehind,
  actorId,
  anonymous,
  atLeast,
  builtInRole,
  type HandlerActor,
  type OrbRights,
  type RealmRights,
  type Role,
  scopesOf,
} from "./actor.ts";
import {
  type AccountOperation,
  type ChangeOperation,
  covered,
  type EditingOperation,
  type EntryOperation,
  EVERY_ORB,
  type Operation,
  PLATFORM_OPERATIONS,
  type PlatformOperation,
  type RealmOperation,
  requireCovered,
  type Scope,
  scopeIn,
  type ViewOperation,
} from "./credentials/index.ts";
import { handlerRefusal, handlersOnly, missingAct, peopleOnly, previewRefusal, refusal } from "./refusals.ts";

/** Name of the realm (set of accounts) that several applications share. */
export const SHARED_REALM = "auth";
/** Name of the realm (set of accounts) of platform admins. */
export const PLATFORM_REALM = "platform";

/** Returns the realm (set of accounts) of an application: its own with the service `access`, or else the shared one. */
export function realmOf(orb: string, orbUsesAccess: boolean): string {
  return orbUsesAccess ? orb : SHARED_REALM;
}

/** An actor together with its rights in one application. */
export interface Principal {
  actor: Actor;
  /** Built-in role of the caller. For a role that the application defines, the built-in role that it extends. */
  role: Role;
  /** The caller's role, if the application defines that role. */
  orbRole?: string | undefined;
  /** Rights of the caller's API token in this application. Without a token, only the role limits the caller. */
  scope?: Scope;
  /**
   * The handler that acts on behalf of the caller, and the operations (acts) that the application allows that handler.
   */
  acting?: { handler: string; acts: readonly Act[] };
  /**
   * Id of the entry that the holder of a preview link sees. The principal's rights hold for reading this entry alone.
   * Other entries, and the fields of this one, are those that an anonymous caller sees.
   */
  preview?: string;
}

/** The parts of a principal that determine its rights. */
type Rights = Omit<Principal, "actor">;

/** An anonymous caller of any application. */
export const PUBLIC: Principal = { actor: anonymous, role: "public" };

/** Returns an actor together with its rights in an application. */
export function principalIn(actor: Actor, orb: string, rights: OrbRights): Principal {
  if (actor.kind === "handler") return actingIn(actor, orb, rights);
  const { usesAccess, roles } = rights;
  const realm = { name: realmOf(orb, usesAccess), roles };
  const principal: Principal = { actor, role: roleInRealm(actor, realm) };
  if (actor.kind === "orb" && actor.realm === realm.name && roles.has(actor.role))
    principal.orbRole = actor.role;
  const token = scopesOf(actor);
  if (token !== undefined) principal.scope = scopeIn(token, orb);
  return principal;
}

/**
 * Returns the rights of a caller who reads one entry by its address. For the holder of a preview link, these are the
 * rights of the account that made the link.
 */
export function readerIn(actor: Actor, orb: string, rights: OrbRights): Principal {
  if (actor.kind !== "preview" || actor.orb !== orb) return principalIn(actor, orb, rights);
  return { ...principalIn(actor.author, orb, rights), preview: actor.entry };
}

/**
 * Returns the actor whose rights decide whether the caller may read a change set.
 * @throws AppError forbidden `preview_link` if the caller holds a preview link that names another change set, or none
 */
export function setReader(actor: Actor, change: string | undefined): Actor {
  if (actor.kind !== "preview") return actor;
  if (actor.change !== change) throw previewRefusal();
  return actor.author;
}

/**
 * Returns the rights with which a caller sees an entry. They differ from the caller's own for the holder of a preview link,
 * who sees other entries as an anonymous caller does.
 * @param entry id of the entry; undefined for entries to which one refers
 */
export function seeing(caller: Principal, entry?: string): Principal {
  return caller.preview === undefined || caller.preview === entry ? caller : PUBLIC;
}

function actingIn(actor: HandlerActor, orb: string, rights: OrbRights): Principal {
  const { handler, caller } = actor;
  if (actor.orb !== orb) return { ...PUBLIC, actor };
  const acts = (rights.grants.get(handler) ?? []).filter((act) => actor.acts.includes(act));
  if (caller.kind === "schedule") {
    // Only the acts limit a schedule, because the application's document contains both. A schedule that the
    // document no longer has can do nothing.
    const exists = rights.schedules.get(caller.schedule) === handler;
    return exists ? { actor, role: "owner", acting: { handler, acts } } : { ...PUBLIC, actor };
  }
  return { ...principalIn(caller, orb, rights), actor, acting: { handler, acts } };
}

/** For requests about a realm (set of accounts), returns the application that the scope of an API token must name. */
export function orbOfRealm(realm: string): string {
  return realm === PLATFORM_REALM || realm === SHARED_REALM ? EVERY_ORB : realm;
}

/**
 * Throws 403 if the caller sent an API token whose scopes do not allow the operation.
 * @param orb id of the application; omit it for operations on the platform itself
 */
export function requireScope(actor: Actor, operation: Operation, orb: string = EVERY_ORB): void {
  const token = scopesOf(actor);
  if (token !== undefined) requireCovered(scopeIn(token, orb), operation);
}

export function roleInRealm(actor: Actor, { name, roles }: RealmRights): Role {
  switch (actor.kind) {
    case "platform":
    case "system":
      return "owner";
    case "orb":
      return actor.realm === name && name !== PLATFORM_REALM ? builtInRole(actor.role, roles) : "public";
    default:
      return "public";
  }
}

/** For each operation on entries, the actions that allow it. An access rule must grant the caller at least one. */
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
  record: ["create"],
};

/** Returns the main action that an access rule must grant for an operation. Drafts can also be read with `publish`. */
export function allowedBy(operation: EntryOperation): Action {
  return operation === "reveal" ? "read" : ALLOWED_BY[operation][0];
}

/**
 * Returns whether a caller may perform an operation on an entry. A handler that acts on behalf of the caller also
 * needs a grant for the matching act. Only owners can reveal sensitive values; a handler with a grant for `reveal`
 * can reveal them in every entry that its caller can read.
 * @param on.own whether the caller created the entry; false for `create` and for lists
 */
export function may(
  caller: Rights,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): boolean {
  const { role, acting, scope, preview } = caller;
  if (preview !== undefined && operation !== "read" && operation !== "readDraft") return false;
  if (scope !== undefined && !covered(scope, operation)) return false;
  if (acting !== undefined && !acting.acts.includes(ACT_OF[operation])) return false;
  const granted = (action: Action) => permits(on.access[action], caller, on.own);
  if (operation === "reveal") return (role === "owner" || acting !== undefined) && granted("read");
  return Object.hasOwn(ALLOWED_BY, operation) && ALLOWED_BY[operation].some(granted);
}

function permits(grant: Grant, caller: Rights, own: boolean): boolean {
  if (grant.least !== null && atLeast(caller.role, grant.least)) return true;
  return (grant.own && own && atLeast(caller.role, "user")) || isNamed(grant, caller);
}

/**
 * Returns whether a caller may read or set a field of an entry. Check separately that the caller may read or write the
 * entry itself.
 */
export function mayField(
  caller: Rights,
  action: "read" | "write",
  { access, own }: { access: FieldAccess; own: boolean },
): boolean {
  // A preview shows the fields that visitors of the site will see.
  if (caller.preview !== undefined) return mayField(PUBLIC, action, { access, own: false });
  const { [action]: grant, within } = access;
  if (within !== undefined && !mayField(caller, action, { access: within, own })) return false;
  return grant === undefined || permits(grant, caller, own);
}

/** Returns the roles, among those that the application defines, that may perform an operation under an access rule. */
function namedBy(operation: Exclude<EntryOperation, "reveal">, access: SchemaAccess): string[] {
  return [...new Set(ALLOWED_BY[operation].flatMap((action) => access[action].roles))];
}

/**
 * Returns whether an access rule names the application's role that the caller has, or the handler that acts on behalf
 * of the caller.
 */
function isNamed({ roles, handlers }: Grant, { orbRole = "", acting }: Rights): boolean {
  return roles.includes(orbRole) || handlers.includes(acting?.handler ?? "");
}

/** Returns whether a caller may perform an action on the records of all accounts, or on application-wide settings. */
export function mayForAll(caller: Rights, action: Action, access: SchemaAccess): boolean {
  return atLeast(caller.role, "admin") || isNamed(access[action], caller);
}

/** Returns whether this user created an entry. Returns false for platform admins, who need no ownership. */
export function isOwn(actor: Actor, createdBy: string): boolean {
  return accountBehind(actor).kind === "orb" && actorId(actor) === createdBy;
}

/** Returns whether a caller may perform an operation on an entry that an account created. */
export function mayWith(
  caller: Principal,
  operation: EntryOperation,
  { access, createdBy }: { access: SchemaAccess; createdBy: string },
): boolean {
  return may(caller, operation, { access, own: isOwn(caller.actor, createdBy) });
}

function operates(actor: Actor, operation: PlatformOperation): boolean {
  return PLATFORM_OPERATIONS.includes(operation) && (actor.kind === "platform" || actor.kind === "system");
}

/**
 * Returns whether a platform admin or the platform itself may perform an operation.
 * @param orb id of the affected application; omit it for operations on the platform itself
 */
export function mayOperate(actor: Actor, operation: PlatformOperation, orb: string = EVERY_ORB): boolean {
  const scopes = scopesOf(actor);
  return operates(actor, operation) && (scopes === undefined || covered(scopeIn(scopes, orb), operation));
}

/**
 * Returns whether an account with a role may manage other accounts. Admins manage users; only owners manage owners and
 * admins.
 * @param target built-in role of the managed account; `public` if the application has removed that account's role
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

/** What decides on the rights in a change set. */
export interface ChangeRights {
  /** Access rules of the schemas whose entries a change set may contain. */
  access: readonly SchemaAccess[];
  /** Whether the caller opened the set; true if there is no set yet. */
  own: boolean;
  /** The roles that may approve, one grant for each review rule. */
  reviewers: readonly Grant[];
}

const WRITING = ["create", "update", "publish", "delete"] as const;

/**
 * Returns whether a caller may perform an operation on a change set. Accounts that may write entries may open sets, and
 * change those that they opened. Accounts that may change the entries of others may also change their sets. These, and
 * reviewers, may read all sets and comment on them. Handlers never approve, because an approval is the decision of a person.
 */
export function mayChange(caller: Rights, operation: ChangeOperation, on: ChangeRights): boolean {
  const { scope, ...rights } = caller;
  const { acting } = rights;
  if (scope !== undefined && !covered(scope, operation)) return false;
  if (acting !== undefined && !acting.acts.includes(ACT_OF[operation])) return false;
  if (!atLeast(caller.role, "user")) return false;
  const some = (operations: readonly EntryOperation[], own: boolean) =>
    on.access.some((access) => operations.some((each) => may(rights, each, { access, own })));
  const reviews = (grant: Grant) => permits(grant, rights, false);
  switch (operation) {
    case "changes.read":
    case "changes.comment":
      return on.own || some(["readDraft"], false) || on.reviewers.some(reviews);
    case "changes.write":
      return some(on.own ? WRITING : ["update"], on.own);
    case "changes.publish":
      // The right to publish or delete each entry of the set is checked apart.
      return some(["publish", "delete"], true);
    case "changes.approve":
      // Callers who may publish approve sets that no rule concerns. The rules that concern a set are checked apart.
      return acting === undefined && (some(["publish"], false) || on.reviewers.some(reviews));
  }
}

/** Throws 401 or 403 if the caller may not perform the operation on a change set. */
export function requireChange(principal: Principal, operation: ChangeOperation, on: ChangeRights): void {
  if (mayChange(principal, operation, on)) return;
  requireAct(principal, ACT_OF[operation]);
  const { actor, scope, ...rights } = principal;
  if (operation === "changes.approve" && rights.acting !== undefined) throw peopleOnly();
  if (!mayChange(rights, operation, on)) {
    throw refusal(
      actor,
      MEMBERS.find((role) => mayChange({ role }, operation, on)),
    );
  }
  requireCovered(scope, operation);
}

/** Returns whether an account with these roles may approve a change set under a review rule. */
export function mayReview(grant: Grant, role: Role, orbRole: string | undefined): boolean {
  return permits(grant, { role, orbRole }, false);
}

/**
 * Returns whether an account may perform an operation on the saved views of a schema's lists. Accounts that may read
 * entries of the schema see views and keep their own. Views that others see are for those who manage users. Handlers have
 * no views.
 */
export function mayView(
  { actor, ...caller }: Principal,
  operation: ViewOperation,
  access: SchemaAccess,
): boolean {
  const { scope, ...rights } = caller;
  if (scope !== undefined && !covered(scope, operation)) return false;
  const reads = (["read", "readDraft"] as const).some((each) => may(rights, each, { access, own: true }));
  if (actor.kind === "platform") return true;
  if (actor.kind !== "orb" || !reads) return false;
  return operation === "views.share" ? mayInRealm(rights.role, "users.write") : atLeast(rights.role, "user");
}

/** Throws 401 or 403 if the caller may not perform the operation on the saved views of a schema's lists. */
export function requireView(principal: Principal, operation: ViewOperation, access: SchemaAccess): void {
  if (mayView(principal, operation, access)) return;
  const { actor, scope, ...rights } = principal;
  if (!mayView({ actor, ...rights }, operation, access)) {
    const sees = actor.kind === "orb" && mayView({ actor, ...rights }, "views.read", access);
    throw refusal(actor, sees ? "admin" : undefined);
  }
  requireCovered(scope, operation);
}

const MEMBERS = ["user", "admin", "owner"] as const;

/** Returns the error for a caller who may not access an entry. The message names the least powerful role that may. */
function entryRefusal(
  actor: Actor,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): AppError {
  const least = MEMBERS.find((role) => may({ role }, operation, on));
  const { handlers } = on.access[allowedBy(operation)];
  if (least === undefined && handlers.length > 0) return handlersOnly(handlers);
  const named = least === "user" || operation === "reveal" ? [] : namedBy(operation, on.access);
  return refusal(actor, least, named);
}

/** Throws 401 or 403 if the caller may not perform the operation. */
export function requireMay(
  principal: Principal,
  operation: EntryOperation,
  on: { access: SchemaAccess; own: boolean },
): void {
  if (may(principal, operation, on)) return;
  requireAct(principal, ACT_OF[operation]);
  const { actor, scope, ...rights } = principal;
  if (!may(rights, operation, on)) throw entryRefusal(actor, operation, on);
  requireCovered(scope, operation);
}

/** Throws 401 or 403 unless the caller is an account: only people edit in forms, and handlers do not. */
export function requireAccount(actor: Actor): asserts actor is AccountActor {
  if (actor.kind === "handler") throw handlerRefusal(actor);
  if (actor.kind !== "orb" && actor.kind !== "platform") throw refusal(actor);
}

/**
 * Throws 401 or 403 if the caller may not edit an entry in a form. API tokens may not either.
 * @param on.isNew whether there is no such entry yet
 */
export function requireEditing(
  { scope, ...rights }: Principal,
  operation: EditingOperation,
  on: { access: SchemaAccess; own: boolean; isNew: boolean },
): void {
  requireAccount(rights.actor);
  requireMay(rights, on.isNew ? "create" : operation === "editing.keep" ? "update" : "readDraft", on);
  requireCovered(scope, operation);
}

/** Throws 403 if the caller is a handler that acts for a user, and the application does not grant it the operation. */
export function requireAct({ acting }: Principal, act: Act): void {
  if (acting !== undefined && !acting.acts.includes(act)) throw missingAct(acting.handler, act);
}

/**
 * Throws 401 or 403 unless the actor is a platform admin or the platform itself. Also throws 403 if the API token of a
 * platform admin does not allow the operation.
 * @param orb id of the affected application; omit it for operations on the platform itself
 */
export function requireOperator(actor: Actor, operation: PlatformOperation, orb?: string): void {
  if (!operates(actor, operation)) throw refusal(actor, "platform admin");
  requireScope(actor, operation, orb);
}

/** Throws 401 or 403 unless the actor is a signed-in account. An API token must also allow the operation. */
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
  realm: RealmRights,
  operation: RealmOperation,
  target: AccountRole = "user",
): void {
  const affected = builtInRole(target, realm.roles);
  if (!mayInRealm(roleInRealm(actor, realm), operation, affected)) {
    const least = MEMBERS.find((role) => mayInRealm(role, operation, affected));
    throw refusal(actor, realm.name === PLATFORM_REALM ? "platform admin" : least);
  }
  requireScope(actor, operation, orbOfRealm(realm.name));
}
