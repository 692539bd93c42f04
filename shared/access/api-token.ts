/** Records of API tokens. A record's key is `<realm>.<account>.<id>`, and it contains a hash of the token. */
import type { Deps } from "../deps.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import { AppError } from "../kernel/errors.ts";
import { sameText, sha256 } from "../kernel/ids.ts";
import { nullOnConflict } from "../store/pages.ts";
import { buckets, kvSubject, streams, token } from "../store/subjects.ts";
import { type Consistency, StreamMissing } from "../store/types.ts";
import { type AccountRecord, readAccount, readRecord, recordsToRevoke } from "./accounts.ts";
import { isEffective } from "./bootstrap.ts";
import type { Scope } from "./credentials/operations.ts";
import { readTokenText, type TokenParts } from "./credentials/token-text.ts";
import { bucketsOf } from "./realms.ts";

export interface ApiTokenRecord {
  v: 1;
  id: string;
  name: string;
  /** SHA-256 of the token's whole text. */
  hash: string;
  scopes: Scope[];
  /** Null if the token never expires. */
  expiresAt: string | null;
  createdAt: string;
  /** Id of the account that created the token: its owner, or the manager of a service account. */
  createdBy: string;
  /** Time of a use, at most {@link USE_MS} before the latest one. */
  lastUsedAt: string | null;
}

export interface VerifiedToken extends TokenParts {
  record: ApiTokenRecord;
  account: AccountRecord;
}

export function tokenKey({ realm, sub, id }: TokenParts): string {
  return `${token(realm, "token")}.${token(sub, "token")}.${token(id, "token")}`;
}

/** The same text for every reason, so that a caller learns nothing about other tokens. */
export function badApiToken(): AppError {
  const detail = "The API token is not valid, has expired or was revoked. Create a new one.";
  return new AppError("unauthenticated", "invalid_token", detail);
}

/** Hashes of tokens that were valid. A wrong token is not added, so that a flood of them displaces nothing. */
const hashes = new BoundedMap<string, string>(1_000);

/**
 * Returns the records of a token and its account. The account decides at the time of use, so that a changed role, a
 * disabled or a removed account needs no change to its tokens.
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

/** Returns a token that has neither expired nor ended, with its account; null otherwise. */
export async function readApiToken(
  deps: Deps,
  parts: TokenParts,
  consistency: Consistency = "cached",
): Promise<VerifiedToken | null> {
  const realm = { name: parts.realm, buckets: bucketsOf(parts.realm) };
  const [stored, account] = await Promise.all([
    readRecord<ApiTokenRecord>(deps, buckets.apiTokens, tokenKey(parts), consistency).catch(nullIfMissing),
    readAccount(deps, realm, parts.sub, consistency),
  ]);
  if (stored === null || account === null) return null;
  const record = stored.value;
  if (record.expiresAt !== null && Date.parse(record.expiresAt) <= deps.clock.now()) return null;
  if (!(await isEffective(deps, realm, account.value))) return null;
  return { ...parts, record, account: account.value };
}

/** A broker that an older version provisioned has no bucket for tokens yet. */
function nullIfMissing(error: unknown): null {
  if (error instanceof StreamMissing) return null;
  throw error;
}

/** Record a use only if the recorded one is at least this many milliseconds old. */
const USE_MS = 3_600_000;
/** When this process last recorded a use, by key. Many requests arrive before the first write is visible. */
const noted = new BoundedMap<string, number>(1_000);

/** Records the use of a token after the response, at most once an hour. */
export function noteTokenUse(deps: Deps, { record, ...parts }: VerifiedToken): void {
  const now = deps.clock.now();
  const key = tokenKey(parts);
  const last = Math.max(noted.get(key) ?? 0, Date.parse(record.lastUsedAt ?? "1970-01-01T00:00:00Z"));
  if (deps.readOnly === true || now - last < USE_MS) return;
  noted.set(key, now);
  deps.afterwards(writeUse(deps, key, now));
}

/** A conflict means that the token was revoked, or that another process has recorded a use. */
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

/** Returns how long the broker keeps a record. */
export function ttlOf({ expiresAt }: Pick<ApiTokenRecord, "expiresAt">, now: number): { ttl?: number } {
  return expiresAt === null ? {} : { ttl: Math.max(1, Math.ceil((Date.parse(expiresAt) - now) / 1000)) };
}

/**
 * Erases the tokens of an account, or of a whole realm. Deletes each record separately, because caches get no event
 * when the broker purges many.
 */
export async function eraseApiTokens(deps: Deps, realm: string, sub?: string): Promise<void> {
  const filter = `${token(realm, "realm")}.${sub === undefined ? "*" : token(sub, "user")}.*`;
  try {
    // A write to a missing bucket would wait for its time limit.
    await deps.store.kvLast(buckets.apiTokens);
    for await (const page of recordsToRevoke<ApiTokenRecord>(deps, buckets.apiTokens, filter)) {
      await Promise.all(page.map(({ key }) => deps.store.kvDelete(buckets.apiTokens, key, { ttl: 60 })));
    }
    if (sub !== undefined) return;
    const all = kvSubject(buckets.apiTokens, `${token(realm, "realm")}.>`);
    await deps.store.purge(streams.kv(buckets.apiTokens), all);
  } catch (error) {
    nullIfMissing(error);
  }
}
