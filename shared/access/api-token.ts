/**
 * Stored records of API tokens. The storage key is `<realm>.<account>.<id>`. The record contains only a hash of the
 * token.
 */
import type { Deps } from "../deps.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import { AppError } from "../kernel/errors.ts";
import { sameText, sha256 } from "../kernel/ids.ts";
import { nullIfMissing, nullOnConflict } from "../store/pages.ts";
import { buckets, kvSubject, streams, token } from "../store/subjects.ts";
import type { Consistency } from "../store/types.ts";
import { type AccountRecord, readAccount, readRecord, recordsToRevoke } from "./accounts.ts";
import { isEffective } from "./bootstrap.ts";
import { readTokenText, type Scope, type TokenParts } from "./credentials/index.ts";
import { bucketsOf } from "./realms.ts";

export interface ApiTokenRecord {
  v: 1;
  id: string;
  name: string;
  /** SHA-256 of the complete token text. */
  hash: string;
  scopes: Scope[];
  /** Revision of the definition whose shape all requests with the token have. Missing: the current one. */
  definition?: number;
  /** Null if the token never expires. */
  expiresAt: string | null;
  createdAt: string;
  /** Id of the account that created the token: its owner, or the account that manages the service account. */
  createdBy: string;
  /** Time of the last recorded use. Later uses within {@link USE_MS} are not recorded. */
  lastUsedAt: string | null;
}

export interface VerifiedToken extends TokenParts {
  record: ApiTokenRecord;
  account: AccountRecord;
}

export function tokenKey({ realm, sub, id }: TokenParts): string {
  return `${token(realm, "token")}.${token(sub, "token")}.${token(id, "token")}`;
}

/**
 * Returns the same error for every invalid token. It must not reveal whether a token exists, has expired or was
 * revoked.
 */
function badApiToken(): AppError {
  const detail = "The API token is not valid, has expired or was revoked. Create a new one.";
  return new AppError("unauthenticated", "invalid_token", detail);
}

/**
 * Cache of the hashes of valid tokens. The key is the token text. Invalid tokens are not cached, because a flood of
 * them could evict the valid ones.
 */
const hashes = new BoundedMap<string, string>(1_000);

/**
 * Verifies a token and returns its record and its account. The rights come from the current account record, so a change
 * of the account's role also affects its tokens.
 * @throws AppError unauthenticated `invalid_token`
 */
export async function verifyApiToken(
  deps: Deps,
  text: string,
  consistency: Consistency,
): Promise<VerifiedToken> {
  const parts = readTokenText(text);
  if (parts === null) throw badApiToken();
  const known = hashes.get(text);
  const [found, hash] = await Promise.all([readApiToken(deps, parts, consistency), known ?? sha256(text)]);
  if (found === null || !sameText(found.record.hash, hash)) throw badApiToken();
  if (known === undefined) hashes.set(text, hash);
  return found;
}

/**
 * Returns a token and its account; null if the token is unknown, expired or revoked, or if its account is not active.
 */
export async function readApiToken(
  deps: Deps,
  parts: TokenParts,
  consistency: Consistency = "cached",
): Promise<VerifiedToken | null> {
  const realm = { name: parts.realm, buckets: bucketsOf(parts.realm) };
  const [stored, account] = await Promise.all([
    // The bucket is missing on a broker that an older version provisioned.
    nullIfMissing(readRecord<ApiTokenRecord>(deps, buckets.apiTokens, tokenKey(parts), consistency)),
    readAccount(deps, realm, parts.sub, consistency),
  ]);
  if (stored === null || account === null) return null;
  const record = stored.value;
  if (record.expiresAt !== null && Date.parse(record.expiresAt) <= deps.clock.now()) return null;
  if (!(await isEffective(deps, realm, account.value))) return null;
  return { ...parts, record, account: account.value };
}

/** A use is recorded only if the last recorded use is at least this many milliseconds old. */
const USE_MS = 3_600_000;
/**
 * Time at which this process last recorded a use of each token, by storage key. Prevents repeated writes while reads do
 * not yet show the first one.
 */
const noted = new BoundedMap<string, number>(1_000);

/** Stores the time at which a token was used, at most once an hour. Does this after the response has been sent. */
export function noteTokenUse(deps: Deps, { record, ...parts }: VerifiedToken): void {
  const now = deps.clock.now();
  const key = tokenKey(parts);
  const last = Math.max(noted.get(key) ?? 0, Date.parse(record.lastUsedAt ?? "1970-01-01T00:00:00Z"));
  if (deps.readOnly === true || now - last < USE_MS) return;
  noted.set(key, now);
  deps.afterwards(writeUse(deps, key, now));
}

/** Writes the time of use. Ignores a conflict: another process has recorded a use, or the token was revoked. */
async function writeUse(deps: Deps, key: string, now: number): Promise<void> {
  const known = await readRecord<ApiTokenRecord>(deps, buckets.apiTokens, key);
  if (known === null) return;
  const used: ApiTokenRecord = { ...known.value, lastUsedAt: new Date(now).toISOString() };
  await nullOnConflict(
    deps.store.kvPut(buckets.apiTokens, key, JSON.stringify(used), {
      expect: known.revision,
      ...ttlOf(used, now),
    }),
  );
}

/**
 * Returns the number of seconds after which the broker deletes a token's record; undefined if the token never
 * expires.
 */
export function ttlOf({ expiresAt }: Pick<ApiTokenRecord, "expiresAt">, now: number): { ttl?: number } {
  return expiresAt === null ? {} : { ttl: Math.max(1, Math.ceil((Date.parse(expiresAt) - now) / 1000)) };
}

/**
 * Erases the tokens of one account, or of all accounts of a realm. Deletes the records one by one, because a purge does
 * not notify the caches of other processes.
 */
export async function eraseApiTokens(deps: Deps, realm: string, sub?: string): Promise<void> {
  await nullIfMissing(eraseStored(deps, realm, sub));
}

async function eraseStored(deps: Deps, realm: string, sub?: string): Promise<void> {
  const filter = `${token(realm, "realm")}.${sub === undefined ? "*" : token(sub, "user")}.*`;
  // Fail early if the bucket is missing. A delete in a missing bucket would wait until it times out.
  await deps.store.kvLast(buckets.apiTokens);
  for await (const page of recordsToRevoke<ApiTokenRecord>(deps, buckets.apiTokens, filter)) {
    await Promise.all(page.map(({ key }) => deps.store.kvDelete(buckets.apiTokens, key, { ttl: 60 })));
  }
  if (sub !== undefined) return;
  const all = kvSubject(buckets.apiTokens, `${token(realm, "realm")}.>`);
  await deps.store.purge(streams.kv(buckets.apiTokens), all);
}
