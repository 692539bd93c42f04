import type { Deps } from "../deps.ts";
import { AppError, notFound, unavailable } from "../kernel/errors.ts";
import { Again, type RetryPolicy, retry } from "../kernel/retry.ts";
import { READ_BYTES, ReadBudget } from "../store/budget.ts";
import { isDeletionMarker } from "../store/client/index.ts";
import { nullOnConflict, untilWritten } from "../store/pages.ts";
import { kvSubject, streams } from "../store/subjects.ts";
import type { Consistency } from "../store/types.ts";
import type { AccountRole } from "./actor.ts";
import { type Accounts, keys, type Realm } from "./realms.ts";

/**
 * An account. While its `status` is `pending`, its registration may be unfinished. It is then valid only if the record
 * of its invitation contains its id.
 */
export interface AccountRecord {
  v: 1;
  id: string;
  name: string;
  email: string | null;
  role: AccountRole;
  status: "pending" | "active" | "disabled";
  /** Storage key of the invitation that the account registered with; null if it registered without an invitation. */
  invitation: string | null;
  credentials: string[];
  /**
   * Identities at OpenID Connect providers with which the user can sign in. An identity that is not listed here cannot
   * be used.
   */
  identities?: LinkedIdentity[] | undefined;
  /** Passkeys and identities that an unfinished request has added. If that request fails, it removes them again. */
  joining?: Joining[] | undefined;
  /** Hash of the account's only valid recovery link. Any other link for this account is invalid. */
  recovery?: string | undefined;
  /** The account's only valid set of recovery codes. Codes from any other set are invalid. */
  codes?: { set: string; createdAt: string } | undefined;
  /**
   * Recoveries of this account (by link or code) after which some old sessions or passkeys may still have to be
   * removed. The next sign-in finishes the cleanup before it starts a session.
   */
  recovered?: Recovered[] | undefined;
  /**
   * Whether the account belongs to a program. Such an account has no passkeys and cannot sign in. Programs use it with
   * API tokens.
   */
  service?: boolean | undefined;
  createdAt: string;
  updatedAt: string;
}

export interface Joining {
  /** Id of the passkey. For a sign-in with a provider: `identity.` and the id of the user's identity there. */
  credential: string;
  /** Time by which the request must finish, in milliseconds since the epoch. After that, it counts as interrupted. */
  until: number;
}

/** An entry in an account's list of identities at OpenID Connect providers. */
export interface LinkedIdentity {
  /** SHA-256 of the issuer and the subject. */
  id: string;
  issuer: string;
}

/** A recovery that added a passkey to the account. The removal of the old sessions and passkeys may be unfinished. */
export interface Recovered {
  by: "link" | "codes";
  /** Hash of the recovery link that was used; null if the user entered a recovery code. */
  link: string | null;
  /** Name of the set of recovery codes that this recovery invalidated; null if there is none. */
  codes: string | null;
  /** Ids of the passkeys that this recovery removed; null if the user kept the old passkeys. */
  removed: string[] | null;
  /** Ids of the identities that this recovery unlinked together with the passkeys. */
  unlinked?: string[] | undefined;
}

/** Throws 409 if the account is a service account, because a service account cannot have passkeys. */
export function refuseService({ service }: Pick<AccountRecord, "service">): void {
  if (service !== true) return;
  const detail = "A service account has no passkeys. Create an API token for it instead.";
  throw new AppError("conflict", "service_account", detail);
}

export interface CredentialRecord {
  v: 1;
  id: string;
  account: string;
  name: string;
  /** COSE public key, base64url. */
  publicKey: string;
  counter: number;
  transports: string[];
  deviceType: string;
  backedUp: boolean;
  createdAt: string;
  lastUsedAt: string | null;
}

/** A stored record with its revision number. A write fails if the number has changed since the record was read. */
export interface Versioned<T> {
  key: string;
  value: T;
  revision: number;
}

/**
 * Reads a record.
 * @param consistency reads from the broker's leader by default, because other replicas may have old data
 */
export async function readRecord<T>(
  deps: Deps,
  bucket: string,
  key: string,
  consistency: Consistency = "leader",
): Promise<Versioned<T> | null> {
  const entry = await deps.store.kvGet(bucket, key, { consistency });
  return entry === null ? null : { key, value: entry.json<T>(), revision: entry.revision };
}

/** @throws Conflict if the record has changed since it was read */
export async function replaceRecord<T>(
  deps: Deps,
  bucket: string,
  known: Versioned<T>,
  value: T,
  more: { expectBucket?: number } = {},
): Promise<Versioned<T>> {
  const revision = await deps.store.kvPut(bucket, known.key, JSON.stringify(value), {
    expect: known.revision,
    ...more,
  });
  return { key: known.key, value, revision };
}

export function readAccount(
  deps: Deps,
  realm: Accounts,
  sub: string,
  consistency?: Consistency,
): Promise<Versioned<AccountRecord> | null> {
  return readRecord<AccountRecord>(deps, realm.buckets.accounts, keys.account(realm, sub), consistency);
}

export async function readCredential(
  deps: Deps,
  realm: Realm,
  id: string,
): Promise<Versioned<CredentialRecord> | null> {
  const found = await readRecord<CredentialRecord>(
    deps,
    realm.buckets.credentials,
    await keys.credential(realm, id),
  );
  return found?.value.id === id ? found : null;
}

/** Throws 409 if the passkey is already registered. */
export async function createCredential(
  deps: Deps,
  realm: Realm,
  key: string,
  credential: CredentialRecord,
): Promise<void> {
  const value = JSON.stringify(credential);
  if ((await nullOnConflict(deps.store.kvPut(realm.buckets.credentials, key, value, { expect: 0 }))) === null)
    throw new AppError("conflict", "passkey_known", "This passkey is already registered. Sign in with it.");
}

/**
 * Changes an account. Retries if another request changes the account at the same time.
 * @param change returns the new record, or null to keep the old one
 */
export async function changeAccount(
  deps: Deps,
  realm: Realm,
  sub: string,
  change: (account: AccountRecord) => AccountRecord | null,
): Promise<AccountRecord> {
  return untilWritten(async () => {
    const found = await readAccount(deps, realm, sub);
    if (found === null) throw notFound("user");
    const changed = change(found.value);
    if (changed === null) return found.value;
    changed.updatedAt = new Date(deps.clock.now()).toISOString();
    return (await replaceRecord(deps, realm.buckets.accounts, found, changed)).value;
  });
}

const RECORDS_PER_READ = 256;
/** Reads again while a replica does not have the newest records yet. */
const CATCH_UP: RetryPolicy = {
  attempts: 50,
  pauseMs: () => 5,
  failed: () => unavailable("a replica lags behind"),
};

export interface RecordPage<T> {
  records: Versioned<T>[];
  /** Start of the next page; null after the last page. */
  next: number | null;
}

/**
 * Returns one page of records, the least recently changed first. If a broker replica returns old data, reads again.
 * @param least the pages together must include all changes up to this revision number of the bucket
 */
export async function pageRecords<T>(
  deps: Deps,
  bucket: string,
  filter: string,
  fromSeq: number,
  limit = RECORDS_PER_READ,
  least = 0,
): Promise<RecordPage<T>> {
  const stream = streams.kv(bucket);
  const subject = kvSubject(bucket, filter);
  return retry(CATCH_UP, async () => {
    const [newest, page] = await Promise.all([
      deps.store.get(stream, subject),
      deps.store.scan(stream, subject, { fromSeq, limit, maxBytes: READ_BYTES }),
    ]);
    const last = page.messages.at(-1)?.seq ?? 0;
    const atEnd = page.pending === 0;
    const end = Math.max(newest?.seq ?? 0, least);
    if (atEnd && end >= fromSeq && end > last) throw new Again();
    const prefix = kvSubject(bucket, "").length;
    const records = page.messages
      .filter((message) => !isDeletionMarker(message))
      .map((message) => ({
        key: message.subject.slice(prefix),
        value: message.json<T>(),
        revision: message.seq,
      }));
    return { records, next: atEnd ? null : last + 1 };
  });
}

export async function* recordPages<T>(
  deps: Deps,
  bucket: string,
  filter: string,
  least?: number,
): AsyncGenerator<Versioned<T>[]> {
  for (let from: number | null = 1; from !== null; ) {
    const page: RecordPage<T> = await pageRecords<T>(deps, bucket, filter, from, RECORDS_PER_READ, least);
    yield page.records;
    from = page.next;
  }
}

const MARK_SECONDS = 60;

/**
 * Yields all records of a kind, so that the caller can revoke them. A record that this function missed would stay
 * valid.
 *
 * A broker that has lost the leadership may not know this for some seconds, and would return old data. So this function
 * first writes a marker, which only the current leader can store, and then reads until it finds the marker.
 */
export async function* recordsToRevoke<T>(
  deps: Deps,
  bucket: string,
  filter: string,
): AsyncGenerator<Versioned<T>[]> {
  const mark = filter.replaceAll("*", "-");
  const least = await deps.store.kvDelete(bucket, mark, { ttl: MARK_SECONDS });
  yield* recordPages<T>(deps, bucket, filter, least);
}

/**
 * Returns all records in one array. Use it only for small sets, such as the platform admins.
 * @param advice part of the error message: how the caller can reduce the number of records
 * @param least the result must include all changes up to this revision number of the bucket
 * @throws AppError invalid `too_broad` if there are more records than one request may read
 */
export async function listRecords<T>(
  deps: Deps,
  bucket: string,
  filter: string,
  advice: string,
  least?: number,
): Promise<Versioned<T>[]> {
  const all: Versioned<T>[] = [];
  const budget = new ReadBudget();
  const charged = { ...deps, store: budget.charging(deps.store) };
  for await (const page of recordPages<T>(charged, bucket, filter, least)) {
    budget.require(advice);
    all.push(...page);
  }
  return all;
}
