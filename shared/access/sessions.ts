/**
 * Sessions. A session token is valid only while its session record exists. The record's key is
 * `<realm>.<account>.<session>`.
 */
import type { Deps } from "../deps.ts";
import { notFound } from "../kernel/errors.ts";
import { namesOfAgent } from "../kernel/user-agent.ts";
import { buckets, token } from "../store/subjects.ts";
import type { Consistency } from "../store/types.ts";
import { type AccountRecord, listRecords, recordsToRevoke } from "./accounts.ts";
import type { AccountRole, Actor } from "./actor.ts";
import { audit } from "./audit.ts";
import { requireOwn } from "./authorize.ts";
import { coarseNetwork } from "./limits.ts";
import type { Realm } from "./realms.ts";
import { issueToken } from "./tokens.ts";

/**
 * Browser, operating system and network from which a session was started, so that people can recognise the session. A
 * value is null if the request did not contain it.
 */
export interface SessionClient {
  browser: string | null;
  system: string | null;
  /** Client network in CIDR notation. */
  network: string | null;
}

const UNKNOWN: SessionClient = { browser: null, system: null, network: null };

export interface SessionRecord {
  v: 1;
  role: AccountRole;
  name: string;
  email: string | null;
  /**
   * Id of the passkey that started the session, or `identity.` and the id of the identity. Removing the passkey or
   * identity ends the session.
   */
  credential: string | null;
  createdAt: string;
  expiresAt: string;
  /** Missing in records that earlier versions wrote. */
  client?: SessionClient;
}

export interface SessionStart {
  realm: string;
  sub: string;
  role: AccountRole;
  name: string;
  email: string | null;
  /** Value for `credential` in the session record. */
  credential?: string;
  /** Lifetime in seconds. */
  ttl: number;
}

export interface StartedSession {
  token: string;
  sid: string;
  /** Seconds until the token and the record expire. */
  ttl: number;
}

export interface Completed {
  session: StartedSession;
  account: AccountRecord;
}

const key = (realm: string, sub: string, sid: string) =>
  `${token(realm, "session")}.${token(sub, "session")}.${token(sid, "session")}`;

export function sessionFor(
  realm: Realm,
  account: Pick<AccountRecord, "id" | "role" | "name" | "email">,
  credential: string,
): SessionStart {
  const { id: sub, role, name, email } = account;
  return { realm: realm.name, sub, role, name, email, credential, ttl: realm.sessionSeconds };
}

function clientOf({ agent, client }: Deps["request"]): SessionClient {
  return { ...namesOfAgent(agent ?? ""), network: coarseNetwork(client) };
}

export async function startSession(deps: Deps, start: SessionStart): Promise<StartedSession> {
  const { realm, sub, role, name, email, credential, ttl } = start;
  const sid = deps.randomToken(16);
  const iat = Math.floor(deps.clock.now() / 1000);
  const exp = iat + ttl;
  const record: SessionRecord = {
    v: 1,
    role,
    name,
    email,
    credential: credential ?? null,
    createdAt: new Date(iat * 1000).toISOString(),
    expiresAt: new Date(exp * 1000).toISOString(),
    client: clientOf(deps.request),
  };
  const [signed] = await Promise.all([
    issueToken(deps.config, { sub, sid, realm, name, email: email ?? "", role, iat, exp }),
    deps.store.kvPut(buckets.sessions, key(realm, sub, sid), JSON.stringify(record), { ttl }),
  ]);
  return { token: signed, sid, ttl };
}

/**
 * Returns a session; null if it has expired or ended.
 * @param consistency use `leader` for writes, because `cached` may return a session that has just ended
 */
export async function readSession(
  deps: Deps,
  realm: string,
  sub: string,
  sid: string,
  consistency: Consistency = "cached",
): Promise<SessionRecord | null> {
  const entry = await deps.store.kvGet(buckets.sessions, key(realm, sub, sid), { consistency });
  if (entry === null) return null;
  const record = entry.json<SessionRecord>();
  return Date.parse(record.expiresAt) > deps.clock.now() ? record : null;
}

export async function endSession(deps: Deps, realm: string, sub: string, sid: string): Promise<void> {
  await deps.store.kvDelete(buckets.sessions, key(realm, sub, sid), { ttl: 60 });
}

/**
 * Ends the sessions of an account, or of a whole realm (set of accounts). Deletes the records one by one, because
 * caches get no event when the broker purges many records at once.
 * @param of selects the sessions; without it, all sessions end
 */
export async function endSessions(
  deps: Deps,
  realm: string,
  sub?: string,
  of: { credential?: string; but?: string } = {},
): Promise<void> {
  const filter = `${token(realm, "realm")}.${sub === undefined ? "*" : token(sub, "user")}.*`;
  for await (const sessions of recordsToRevoke<SessionRecord>(deps, buckets.sessions, filter)) {
    await Promise.all(
      sessions
        .filter(({ value }) => of.credential === undefined || value.credential === of.credential)
        .filter(({ key: name }) => of.but === undefined || !name.endsWith(`.${of.but}`))
        .map((session) => deps.store.kvDelete(buckets.sessions, session.key, { ttl: 60 })),
    );
  }
}

/** A session as shown to the account that owns it. */
export interface OwnSession extends SessionClient {
  id: string;
  createdAt: string;
  expiresAt: string;
  /** Whether this session sent the current request. */
  current: boolean;
}

function own(actor: Actor, realm: Realm): { sub: string; sid: string } {
  requireOwn(actor, realm.name, "sessions");
  return actor;
}

/** Lists the sessions of the signed-in account, newest first. */
export async function listOwnSessions(deps: Deps, actor: Actor, realm: Realm): Promise<OwnSession[]> {
  const { sub, sid } = own(actor, realm);
  const prefix = `${token(realm.name, "session")}.${token(sub, "session")}.`;
  const records = await listRecords<SessionRecord>(
    deps,
    buckets.sessions,
    `${prefix}*`,
    "End all other sessions first.",
  );
  const now = deps.clock.now();
  return records
    .filter(({ value }) => Date.parse(value.expiresAt) > now)
    .map(({ key: name, value }) => {
      const { createdAt, expiresAt, client = UNKNOWN } = value;
      const id = name.slice(prefix.length);
      return { id, createdAt, expiresAt, ...client, current: id === sid };
    })
    .reverse();
}

/**
 * Ends one session of the signed-in account. All further requests of that session are rejected.
 * @returns whether that session sent the current request
 * @throws AppError not_found if the account has no such session
 */
export async function endOwnSession(
  deps: Deps,
  actor: Actor,
  { realm, id }: { realm: Realm; id: string },
): Promise<boolean> {
  const { sub, sid } = own(actor, realm);
  if ((await readSession(deps, realm.name, sub, id, "leader")) === null) throw notFound("session");
  await endSession(deps, realm.name, sub, id);
  await audit(deps, { realm: realm.name, action: "signout", actor, target: sub, detail: "one_session" });
  return id === sid;
}

/** Ends all sessions of the signed-in account except the one that sent the current request. */
export async function endOtherSessions(deps: Deps, actor: Actor, realm: Realm): Promise<void> {
  const { sub, sid } = own(actor, realm);
  await endSessions(deps, realm.name, sub, { but: sid });
  await audit(deps, { realm: realm.name, action: "signout", actor, target: sub, detail: "other_sessions" });
}
