/**
 * API tokens, which programs send instead of a session. The owner of a token, or the manager of a service account, can
 * create, list and revoke tokens.
 */
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, invalid, invalidParameters, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { buckets, isToken, token } from "../../store/subjects.ts";
import { type AccountRecord, listRecords, readAccount, readRecord, type Versioned } from "../accounts.ts";
import { type Actor, actorId, NEVER } from "../actor.ts";
import { type ApiTokenRecord, tokenKey, ttlOf } from "../api-token.ts";
import { audit } from "../audit.ts";
import { PLATFORM_REALM, requireInRealm, requireOperator, requireOwn, SHARED_REALM } from "../authorize.ts";
import { isEffective } from "../bootstrap.ts";
import { covers, EVERY_ORB, type Scope, writeTokenText } from "../credentials/index.ts";
import type { Realm } from "../realms.ts";
import { readSession } from "../sessions.ts";
import { badToken } from "../tokens.ts";

/** Maximum number of API tokens that one account can have. */
export const TOKEN_LIMIT = 50;
/** Maximum lifetime of a token that expires: a leap year. */
const LONGEST_MS = 366 * 24 * 3_600_000;
const SECRET_BYTES = 32;

/** An API token without its text. The text is returned only once, when the token is created. */
export type ApiToken = Omit<ApiTokenRecord, "v" | "hash">;

interface Owned {
  realm: Realm;
  /** Id of the service account that owns the token. Omit it for the caller's own account. */
  account?: string | undefined;
}

export interface NewApiToken extends Owned {
  name: string;
  /** ISO 8601 time, or null for a token that never expires. */
  expiresAt: string | null;
  scopes: Scope[];
  /** Revision of the definition whose shape all requests with the token have. Default: the current one. */
  definition?: number | undefined;
}

/**
 * Creates an API token.
 * @returns the token with its text, which no later request can read
 */
export async function createApiToken(
  deps: Deps,
  actor: Actor,
  input: NewApiToken,
): Promise<ApiToken & { text: string }> {
  const { realm, name } = input;
  const sub = await ownerOf(deps, actor, input, "tokens.write");
  const now = deps.clock.now();
  requireCreatable(actor, input, now);
  if ((await recordsOf(deps, realm, sub)).length >= TOKEN_LIMIT) throw tooMany();
  const id = deps.newId();
  const parts = { realm: realm.name, sub, id };
  const text = writeTokenText(parts, deps.randomToken(SECRET_BYTES));
  const record: ApiTokenRecord = {
    v: 1,
    id,
    name,
    hash: await sha256(text),
    scopes: input.scopes.map(({ orb, can }) => ({ orb, can })),
    ...(input.definition === undefined ? {} : { definition: input.definition }),
    expiresAt: input.expiresAt === null ? null : new Date(input.expiresAt).toISOString(),
    createdAt: new Date(now).toISOString(),
    createdBy: actorId(actor),
    lastUsedAt: null,
  };
  const key = tokenKey(parts);
  const revision = await deps.store.kvPut(buckets.apiTokens, key, JSON.stringify(record), {
    expect: 0,
    ...ttlOf(record, now),
  });
  try {
    await confirm(deps, actor, { realm, sub }, revision);
  } catch (error) {
    await deps.store.kvDelete(buckets.apiTokens, key, { ttl: 60 });
    throw error;
  }
  await note(deps, actor, realm, sub, id, "created");
  return { ...shown(record), text };
}

/**
 * Checks the account, the session and the token limit again after the token was written. Concurrent requests may have
 * removed the account, ended the session or created other tokens. If the account now has too many tokens, those stored
 * first are kept, and this one is removed.
 */
async function confirm(
  deps: Deps,
  actor: Actor,
  { realm, sub }: { realm: Realm; sub: string },
  revision: number,
): Promise<void> {
  const [account, records, lasts] = await Promise.all([
    readAccount(deps, realm, sub),
    recordsOf(deps, realm, sub, revision),
    sessionLasts(deps, actor),
  ]);
  if (account === null) throw notFound("user");
  // An unfinished recovery is about to end all sessions, or a finished recovery has ended this session. Reject the
  // new token in both cases.
  if (account.value.recovered !== undefined || !lasts) throw badToken();
  if (!(await isEffective(deps, realm, account.value))) {
    throw new AppError("forbidden", "account_disabled", "The account is disabled. Enable it first.");
  }
  // The revision number of a token's record grows when a use is recorded. So a token that was used counts as older than
  // the new one, whatever its number.
  const older = records.filter((each) => each.revision < revision || each.value.lastUsedAt !== null);
  if (older.length >= TOKEN_LIMIT) throw tooMany();
}

/** Returns whether the caller's session is still valid. Always true for API tokens. */
async function sessionLasts(deps: Deps, actor: Actor): Promise<boolean> {
  if ((actor.kind !== "platform" && actor.kind !== "orb") || actor.token !== undefined) return true;
  const realm = actor.kind === "platform" ? PLATFORM_REALM : actor.realm;
  return (await readSession(deps, realm, actor.sub, actor.sid, "leader")) !== null;
}

function tooMany(): AppError {
  const detail = `An account has at most ${TOKEN_LIMIT} API tokens. Revoke one first.`;
  return new AppError("conflict", "too_many_tokens", detail);
}

/** Lists the tokens of an account, oldest first. */
export async function listApiTokens(deps: Deps, actor: Actor, input: Owned): Promise<ApiToken[]> {
  const sub = await ownerOf(deps, actor, input, "tokens.read");
  const records = await recordsOf(deps, input.realm, sub);
  return records.map(({ value }) => shown(value)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function getApiToken(
  deps: Deps,
  actor: Actor,
  input: Owned & { id: string },
): Promise<ApiToken> {
  const sub = await ownerOf(deps, actor, input, "tokens.read");
  return shown((await existing(deps, input, sub)).value);
}

/** Revokes a token. The token stops working immediately in all processes. */
export async function revokeApiToken(deps: Deps, actor: Actor, input: Owned & { id: string }): Promise<void> {
  const sub = await ownerOf(deps, actor, input, "tokens.write");
  const { key } = await existing(deps, input, sub);
  await deps.store.kvDelete(buckets.apiTokens, key, { ttl: 60 });
  await note(deps, actor, input.realm, sub, input.id, "revoked");
}

/** Returns the API token that authenticated the request. */
export async function getCurrentToken(deps: Deps, actor: Actor, realm: Realm): Promise<ApiToken> {
  return shown((await existing(deps, { realm, id: currentId(actor, realm) }, actorId(actor))).value);
}

/** Revokes the API token that authenticated the request. */
export async function revokeCurrentToken(deps: Deps, actor: Actor, realm: Realm): Promise<void> {
  const [sub, id] = [actorId(actor), currentId(actor, realm)];
  const { key } = await existing(deps, { realm, id }, sub);
  await deps.store.kvDelete(buckets.apiTokens, key, { ttl: 60 });
  await note(deps, actor, realm, sub, id, "revoked");
}

function currentId(actor: Actor, realm: Realm): string {
  requireOwn(actor, realm.name, "tokens.current");
  if (actor.token !== undefined) return actor.token.id;
  throw notFound("api token", "This request was sent with a session, not with an API token.");
}

async function existing(
  deps: Deps,
  { realm, id }: { realm: Realm; id: string },
  sub: string,
): Promise<Versioned<ApiTokenRecord>> {
  const found = isToken(id)
    ? await readRecord<ApiTokenRecord>(deps, buckets.apiTokens, tokenKey({ realm: realm.name, sub, id }))
    : null;
  if (found === null) throw notFound("api token", "There is no such API token.");
  return found;
}

function recordsOf(
  deps: Deps,
  realm: Realm,
  sub: string,
  least?: number,
): Promise<Versioned<ApiTokenRecord>[]> {
  const filter = `${token(realm.name, "realm")}.${token(sub, "user")}.*`;
  return listRecords<ApiTokenRecord>(deps, buckets.apiTokens, filter, "Revoke some API tokens.", least);
}

function shown({ v: _, hash: __, ...rest }: ApiTokenRecord): ApiToken {
  return rest;
}

/**
 * Returns the id of the account that owns the tokens. Throws if the caller may not manage the tokens of that account.
 */
async function ownerOf(
  deps: Deps,
  actor: Actor,
  { realm, account }: Owned,
  operation: "tokens.read" | "tokens.write",
): Promise<string> {
  requireOwn(actor, realm.name, operation);
  const belongs = actor.kind === "platform" ? realm.name === PLATFORM_REALM : actor.realm === realm.name;
  if (belongs && (account === undefined || account === actor.sub)) return actor.sub;
  if (account === undefined) {
    const message = "is required, because your account is not of this realm. Name a service account.";
    const faults = [{ path: "/account", code: "required", message }];
    throw operation === "tokens.write" ? invalid(faults) : invalidParameters(faults);
  }
  requireManager(actor, realm, "user");
  const found = isToken(account) ? await readAccount(deps, realm, account) : null;
  if (found === null) throw notFound("user");
  requireManager(actor, realm, found.value.role);
  if (found.value.service !== true) {
    const detail = "People manage their own API tokens. Use a service account for a program.";
    throw new AppError("forbidden", "not_a_service_account", detail);
  }
  return account;
}

function requireManager(actor: Actor, realm: Realm, role: AccountRecord["role"]): void {
  if (realm.name === PLATFORM_REALM) requireOperator(actor, "admins.write");
  else requireInRealm(actor, realm, "users.write", role);
}

/**
 * Throws if the caller may not create a token with these scopes and this expiry.
 * @param now milliseconds since the epoch
 */
export function requireCreatable(
  actor: Actor,
  { realm, scopes, expiresAt, definition }: Omit<NewApiToken, "name" | "account">,
  now: number,
): void {
  const faults: Fault[] = [];
  const outside = realm.name !== PLATFORM_REALM && realm.name !== SHARED_REALM;
  for (const [index, { orb }] of scopes.entries()) {
    if (!outside || orb === realm.name) continue;
    const message = `must be "${realm.name}", because the account is of this orb`;
    faults.push({ path: `/scopes/${index}/orb`, code: "not_allowed", message });
  }
  if (definition !== undefined && (scopes.length !== 1 || scopes[0]?.orb === EVERY_ORB)) {
    const message =
      "must only be given with one scope that names an orb, because it is a revision of this orb";
    faults.push({ path: "/definition", code: "not_applicable", message });
  }
  const fault = expiryFault(actor, expiresAt, now);
  if (fault !== null) faults.push(fault);
  if (faults.length > 0) throw invalid(faults);
  if (actor.kind !== "platform" && actor.kind !== "orb") return;
  if (actor.token !== undefined && !covers(actor.token.scopes, scopes)) {
    const detail = "An API token can only create tokens with scopes that it has itself. Remove the others.";
    throw new AppError("forbidden", "missing_scope", detail);
  }
}

function expiryFault(actor: Actor, expiresAt: string | null, now: number): Fault | null {
  const path = "/expiresAt";
  if (expiresAt === null && actor.kind !== "platform") {
    const message = "must be a time. Only platform admins can create tokens that never expire.";
    return { path, code: "not_allowed", message };
  }
  const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  if (end <= now) return { path, code: "too_early", message: "must be in the future" };
  if (expiresAt !== null && end > now + LONGEST_MS) {
    return { path, code: "too_late", message: "must be at most a year ahead" };
  }
  const limit = "token" in actor && actor.token !== undefined ? actor.exp : NEVER;
  if (limit === NEVER || end <= limit * 1000) return null;
  const own = new Date(limit * 1000).toISOString();
  const message = `must not be after ${own}, when the API token of this request expires`;
  return { path, code: "too_late", message };
}

function note(
  deps: Deps,
  actor: Actor,
  realm: Realm,
  sub: string,
  id: string,
  detail: "created" | "revoked",
): Promise<void> {
  return audit(deps, { realm: realm.name, action: "token", actor, target: `${sub}/${id}`, detail });
}
