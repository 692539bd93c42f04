/**
 * All operations of the API, and the rights that an API token needs for each. An API token cannot perform an operation
 * that is missing from the table below.
 */

import { AppError } from "../../kernel/errors.ts";
import { CANS, type Can } from "./rights.ts";

/** Matches all applications, the platform itself, and the accounts that belong to no application. */
export const EVERY_ORB = "*";

/** A scope of an API token: the rights `can` in the application `orb`, or in all applications if `orb` is `*`. */
export interface Scope {
  orb: string;
  can: readonly Can[];
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
  /** Creates a record in a module of the type TRANSACTIONS. */
  "record",
] as const;
export type EntryOperation = (typeof ENTRY_OPERATIONS)[number];

/**
 * Operations on change sets. `write` also asks for a review. `approve` also rejects. `comment` also resolves comments.
 */
export const CHANGE_OPERATIONS = [
  "changes.read",
  "changes.write",
  "changes.comment",
  "changes.approve",
  "changes.publish",
] as const;
export type ChangeOperation = (typeof CHANGE_OPERATIONS)[number];

/**
 * Operations of a person who edits an entry in a form: `keep` stores unsaved changes that only this person sees, and
 * `attend` tells other editors of the entry that this person edits it.
 */
export const EDITING_OPERATIONS = ["editing.keep", "editing.attend"] as const;
export type EditingOperation = (typeof EDITING_OPERATIONS)[number];

/** Operations on the saved views of lists. `write` changes the caller's own views, `share` those that others see. */
export const VIEW_OPERATIONS = ["views.read", "views.write", "views.share"] as const;
export type ViewOperation = (typeof VIEW_OPERATIONS)[number];

export const PLATFORM_OPERATIONS = [
  "orbs.list",
  "orbs.read",
  "orbs.create",
  "orbs.import",
  "orbs.write",
  "entries.read",
  "entries.export",
  /** Says who created an entry and when, or sets its state, as an import of entries does. */
  "entries.import",
  "entries.purge",
  "entries.rekey",
  "registry.read",
  "registry.write",
  "routes.read",
  "streams.read",
  "streams.write",
  "audit.read",
  "metrics.read",
  "admins.read",
  "admins.write",
  "services.write",
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

/** Operations that an account performs on itself. */
export const ACCOUNT_OPERATIONS = [
  "account.read",
  "account.write",
  "passkeys.read",
  "passkeys.write",
  "tokens.read",
  "tokens.write",
  /** Reads or revokes the API token that authenticated the request. */
  "tokens.current",
  /** Allows a program to create an API token for itself, as `orb login` does. */
  "programs",
  "sessions",
  "identities",
  "recovery",
] as const;
export type AccountOperation = (typeof ACCOUNT_OPERATIONS)[number];

/** Operations that need no role or access rule. The handler or the stream decides which callers it accepts. */
export const USE_OPERATIONS = ["call", "stream"] as const;
export type UseOperation = (typeof USE_OPERATIONS)[number];

export type Operation =
  | EntryOperation
  | ChangeOperation
  | EditingOperation
  | ViewOperation
  | PlatformOperation
  | RealmOperation
  | AccountOperation
  | UseOperation;

/**
 * The rights that an API token needs for an operation. An empty list accepts every token. `session` rejects every
 * token: the operation needs a signed-in session.
 */
export type Need = readonly Can[] | "session";

const READ = ["read"] as const;
const PROPOSE = ["propose"] as const;
const WRITE = ["write"] as const;
const PUBLISH = ["publish"] as const;
const MANAGE = ["manage"] as const;

const NEEDS: Readonly<Record<Operation, Need>> = {
  read: READ,
  readDraft: READ,
  readRevisions: READ,
  create: WRITE,
  update: WRITE,
  archive: WRITE,
  restore: WRITE,
  delete: WRITE,
  publish: PUBLISH,
  unpublish: PUBLISH,
  reveal: MANAGE,
  record: WRITE,

  "changes.read": READ,
  "changes.write": PROPOSE,
  "changes.comment": PROPOSE,
  "changes.approve": PUBLISH,
  "changes.publish": PUBLISH,

  "editing.keep": "session",
  "editing.attend": "session",
  "views.read": READ,
  "views.write": WRITE,
  "views.share": MANAGE,

  "orbs.list": READ,
  "orbs.read": READ,
  "orbs.create": MANAGE,
  // An import can write and publish entries. So the token needs these rights too.
  "orbs.import": ["write", "publish", "manage"],
  "orbs.write": MANAGE,
  "entries.read": READ,
  "entries.export": READ,
  "entries.import": ["write", "publish", "manage"],
  "entries.purge": MANAGE,
  "entries.rekey": ["write", "manage"],
  "registry.read": READ,
  "registry.write": MANAGE,
  "routes.read": READ,
  "streams.read": READ,
  "streams.write": MANAGE,
  "audit.read": MANAGE,
  "metrics.read": READ,
  "admins.read": MANAGE,
  "admins.write": MANAGE,
  "services.write": MANAGE,
  "realm.bootstrap": MANAGE,
  "settings.read": READ,
  "settings.write": MANAGE,

  "users.read": MANAGE,
  "users.write": MANAGE,
  "invitations.read": MANAGE,
  "invitations.write": MANAGE,

  "account.read": [],
  "account.write": MANAGE,
  "passkeys.read": MANAGE,
  "passkeys.write": MANAGE,
  "tokens.read": MANAGE,
  "tokens.write": MANAGE,
  // Every token may revoke itself, so that a program can sign out whatever its scopes are.
  "tokens.current": [],
  programs: "session",
  sessions: "session",
  identities: "session",
  recovery: "session",

  call: WRITE,
  stream: READ,
};

/** Returns the rights that an API token needs for an operation. Unknown operations need a session. */
export function needOf(operation: Operation): Need {
  return Object.hasOwn(NEEDS, operation) ? NEEDS[operation] : "session";
}

const includes = (list: readonly string[], name: string) => list.includes(name);

export function isAccountOperation(operation: Operation): operation is AccountOperation {
  return includes(ACCOUNT_OPERATIONS, operation);
}

export function isPlatformOperation(operation: Operation): operation is PlatformOperation {
  return includes(PLATFORM_OPERATIONS, operation);
}

/** Returns the combined rights of a token's scopes in one application, or on the platform itself. */
export function scopeIn(scopes: readonly Scope[], orb: string): Scope {
  const of = scopes.filter((scope) => scope.orb === orb || scope.orb === EVERY_ORB);
  return { orb, can: CANS.filter((can) => of.some((scope) => scope.can.includes(can))) };
}

/** Returns whether a scope has a right. `write` includes `propose`. */
function grants({ can }: Scope, wanted: Can): boolean {
  return can.includes(wanted) || (wanted === "propose" && can.includes("write"));
}

/** Returns whether the scopes `given` include all rights of the scopes `wanted`. */
export function covers(given: readonly Scope[], wanted: readonly Scope[]): boolean {
  return wanted.every(({ orb, can }) => {
    const allowed = scopeIn(given, orb);
    return can.every((each) => grants(allowed, each));
  });
}

/** Returns the rights that a scope lacks for an operation; null if the operation needs a session. */
function missingIn(scope: Scope, operation: Operation): readonly Can[] | null {
  const need = needOf(operation);
  return need === "session" ? null : need.filter((can) => !grants(scope, can));
}

/** Returns whether the scope of an API token allows an operation. */
export function covered(scope: Scope, operation: Operation): boolean {
  return missingIn(scope, operation)?.length === 0;
}

/** Throws 403 if a scope does not allow an operation. */
export function requireCovered(scope: Scope | undefined, operation: Operation): void {
  if (scope === undefined) return;
  const missing = missingIn(scope, operation);
  if (missing === null) {
    const detail = "This needs a session. Sign in with a passkey instead of sending an API token.";
    throw new AppError("forbidden", "session_required", detail);
  }
  if (missing.length === 0) return;
  const wanted = JSON.stringify({ orb: scope.orb, can: missing });
  const detail = `The API token lacks the scope ${wanted}. Send a token that has it.`;
  throw new AppError("forbidden", "missing_scope", detail);
}
