/** The caller of an operation. Only `authenticate.ts` and the platform itself create actors. */

import { type Act, BUILT_IN_ROLES, type OrbRoles, ROLE_ID } from "../definition/document/index.ts";
import type { Scope } from "./credentials/index.ts";

/** Built-in roles from the most to the least powerful. `public` is an anonymous caller. */
export type Role = "owner" | "admin" | "user" | "public";

const RANK: Record<Role, number> = { public: 0, user: 1, admin: 2, owner: 3 };

/** Returns whether `role` has at least the rights of `least`. */
export function atLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** Value of `exp` for credentials that never expire: the last second of the year 9999. */
export const NEVER = 253_402_300_799;

/** The API token that authenticated the request. */
export interface ActorToken {
  id: string;
  scopes: readonly Scope[];
  /** Revision of the definition whose shape the caller sees and writes. */
  definition?: number | undefined;
}

interface SignedIn {
  sub: string;
  name: string;
  /** Id of the session or of the API token. */
  sid: string;
  /** Time at which the session or the API token expires, in seconds since the epoch. */
  exp: number;
  /** The API token that the caller sent, if any. Its scopes limit the account's rights. */
  token?: ActorToken;
}

/** Role of an account: `user`, `admin`, `owner`, or the id of a role of the application. */
export type AccountRole = string;

/** A caller that is not a handler: an account, an anonymous caller, or the platform itself. */
export type DirectActor =
  | { kind: "anonymous" }
  /** A platform admin has the rights of an owner in every application. */
  | (SignedIn & { kind: "platform"; email: string | null })
  | (SignedIn & { kind: "orb"; realm: string; role: AccountRole })
  /**
   * A schedule of an application, which has exactly the acts that the application grants to its handler. Only the caller
   * of a handler is ever a schedule.
   */
  | { kind: "schedule"; sub: string; orb: string; schedule: string }
  /** The platform itself, for example a command that provisions the broker. */
  | { kind: "system"; sub: "system" };

/**
 * Returns a schedule as the caller of its handler. Its account id has an underscore, which ids of accounts and schedules
 * do not have, so it names no account.
 */
export function scheduleActor(orb: string, schedule: string): DirectActor {
  return { kind: "schedule", sub: `schedule_${schedule}`, orb, schedule };
}

/** A signed-in actor: a platform admin or an application's user. */
export type AccountActor = Extract<DirectActor, { kind: "platform" | "orb" }>;

/**
 * A handler that sends requests on behalf of the user who called it. In any application other than its own, the
 * handler has the rights of an anonymous caller.
 */
export interface HandlerActor {
  kind: "handler";
  /** Full name of the handler: `<service>.<handler>`. */
  handler: string;
  orb: string;
  /**
   * Acts (kinds of operation) that the application had granted to the handler at the time of the call. The handler may
   * use an act only if the application still grants it.
   */
  acts: readonly string[];
  caller: DirectActor;
  /** Id of the request that called the handler. */
  requestId: string;
}

/**
 * The holder of a preview link. Sees one entry, drafts included, as the account that made the link. Everything else looks
 * as it does for an anonymous caller.
 */
export interface PreviewActor {
  kind: "preview";
  orb: string;
  /** Id of the entry. */
  entry: string;
  /** The change set within which the holder reads. */
  change: string | undefined;
  /** The account that made the link, with the rights that it has now. */
  author: AccountActor;
}

export type Actor = DirectActor | HandlerActor | PreviewActor;

export const anonymous: DirectActor = { kind: "anonymous" };
export const system: DirectActor = { kind: "system", sub: "system" };

/**
 * Returns the caller whose account is used. If the actor is a handler, that is the user who called the handler. The holder
 * of a preview link has no account.
 */
export function accountBehind(actor: Actor): DirectActor {
  if (actor.kind === "preview") return anonymous;
  return actor.kind === "handler" ? actor.caller : actor;
}

/**
 * Returns the account id that records and the audit log show. If the actor is a handler, that is the id of the user
 * who called the handler.
 */
export function actorId(actor: Actor): string {
  const account = accountBehind(actor);
  return account.kind === "anonymous" ? "anonymous" : account.sub;
}

/**
 * Returns the account id and its realm (set of accounts), because ids are unique only within a realm. Stored data
 * contains this format.
 */
export function accountOf(actor: Actor): string {
  const account = accountBehind(actor);
  if (account.kind === "orb") return `${account.realm}/${account.sub}`;
  return `${account.kind === "schedule" ? account.orb : account.kind}/${actorId(account)}`;
}

/**
 * Prefix of an API token's id where a stored value may be the id of a session or of a token. A session id is shorter
 * than a token id with this prefix, so the two cannot be confused.
 */
export const OF_TOKEN = "api-token-";

/**
 * Returns the id of the session or API token that authenticated the caller. The id is not secret. Anonymous callers
 * have an empty id.
 */
export function credentialOf(actor: Actor): string {
  const account = accountBehind(actor);
  if (!("sid" in account)) return "";
  return account.token === undefined ? account.sid : `${OF_TOKEN}${account.token.id}`;
}

/** Returns the id of the API token that authenticated the caller; undefined if the caller used no API token. */
export function tokenIdOf(actor: Actor): string | undefined {
  const account = accountBehind(actor);
  return "token" in account ? account.token?.id : undefined;
}

/**
 * Returns the revision of the definition to which the caller's API token is pinned; undefined if it is pinned to none.
 * Handlers that act for the caller are parts of the orb, and know its current definition.
 */
export function pinnedTo(actor: Actor): number | undefined {
  return "token" in actor ? actor.token?.definition : undefined;
}

/** Returns the scopes of the API token that authenticated the caller; undefined if the caller used no API token. */
export function scopesOf(actor: Actor): readonly Scope[] | undefined {
  const account = accountBehind(actor);
  return "token" in account ? account.token?.scopes : undefined;
}

/**
 * Returns the actor of a write that goes into a change set, where the scope `propose` of an API token is as good as
 * `write`. Never use it for a write of an entry itself.
 */
export function proposing(actor: Actor): Actor {
  if (!("token" in actor) || actor.token === undefined) return actor;
  const scopes = actor.token.scopes.map(
    ({ orb, can }): Scope => ({
      orb,
      can: can.includes("propose") && !can.includes("write") ? [...can, "write"] : can,
    }),
  );
  return { ...actor, token: { ...actor.token, scopes } };
}

/**
 * Returns the name of the handler that acts on behalf of a user; undefined for other actors. Stored records contain
 * this name beside the user's id.
 */
export function throughOf(actor: Actor): string | undefined {
  return actor.kind === "handler" ? actor.handler : undefined;
}

/** Returns the members of a revision that name its author: the account, the handler and the API token. */
export function writerOf(actor: Actor): {
  updatedBy: string;
  through: string | undefined;
  token?: string;
} {
  const token = tokenIdOf(actor);
  const by = { updatedBy: actorId(actor), through: throughOf(actor) };
  return token === undefined ? by : { ...by, token };
}

/** A caller, as stored with work that the platform does later with the caller's rights. */
export interface Behalf {
  /** Realm (set of accounts): `platform`, `auth` or the id of an application. Missing for a schedule and the platform. */
  realm?: string | undefined;
  /** Id of the account, as {@link actorId} returns it. */
  sub: string;
  /** Id of the API token that authenticated the caller. */
  token?: string | undefined;
  /** The application's schedule that called the handler. */
  schedule?: string | undefined;
  /** The handler that acted on behalf of the caller. */
  through?: { handler: string; orb: string; acts: readonly string[] } | undefined;
}

/** Returns what is stored of a caller so that the platform can act with the caller's rights later. */
export function behalfOf(actor: Actor): Behalf {
  const account = accountBehind(actor);
  const token = tokenIdOf(actor);
  const realm = account.kind === "orb" ? account.realm : account.kind === "platform" ? "platform" : undefined;
  return {
    ...(realm === undefined ? {} : { realm }),
    sub: actorId(actor),
    ...(token === undefined ? {} : { token }),
    ...(account.kind === "schedule" ? { schedule: account.schedule } : {}),
    ...(actor.kind === "handler"
      ? { through: { handler: actor.handler, orb: actor.orb, acts: actor.acts } }
      : {}),
  };
}

/**
 * Returns whether a name is valid as the role of an account. The role may not exist: only the application's definition
 * lists the application's roles.
 */
export function isAccountRole(name: string): boolean {
  return name !== "public" && ROLE_ID.test(name);
}

/**
 * Returns the built-in role whose rights an account has. A role that an application defines has the rights of the
 * built-in role that it extends. If the application has removed the role, the account has the rights of an anonymous
 * caller.
 */
export function builtInRole(name: AccountRole, roles: OrbRoles): Role {
  return BUILT_IN_ROLES.find((role) => role === name) ?? roles.get(name) ?? "public";
}

/** The parts of an application's definition that decide which rights callers have. */
export interface OrbRights {
  usesAccess: boolean;
  /** Roles that the application defines itself. */
  roles: OrbRoles;
  /** Acts that the application's document grants to each handler. The key is the handler's full name. */
  grants: ReadonlyMap<string, readonly Act[]>;
  /** Full name of the handler that each schedule calls. */
  schedules: ReadonlyMap<string, string>;
}

/** The parts of a realm (set of accounts) that decide which rights callers have. */
export interface RealmRights {
  name: string;
  roles: OrbRoles;
}
