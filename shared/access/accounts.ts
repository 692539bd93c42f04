/** Stored accounts and passkeys. */
import type { Deps } from "../deps.ts";
import { AppError, notFound, unavailable } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { isMarker } from "../store/broker/store.ts";
import { READ_BYTES } from "../store/budget.ts";
import { nullOnConflict, untilWritten } from "../store/pages.ts";
import { kvSubject, streams } from "../store/subjects.ts";
import type { Role } from "./actor.ts";
import { keys, type Realm } from "./realms.ts";

export type AccountRole = Exclude<Role, "public">;

/**
 * One account. An account that is `pending` counts only if the invitation that it names also names it; writing that
 * name is the commit point of a registration. Only the credentials in its list are its passkeys.
 */
export interface AccountRecord {
  v: 1;
  id: string;
  name: string;
  email: string | null;
  role: AccountRole;
  status: "pending" | "active" | "disabled";
  /** Key of the invitation that created it. */
  invitation: string;
  credentials: string[];
  /** ISO 8601. */
  createdAt: string;
  updatedAt: string;
}

/** One passkey. */
export interface CredentialRecord {
  v: 1;
  id: string;
  /** The account's id. */
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

/** A record with the revision for a compare-and-set. */
export interface Versioned<T> {
  key: string;
  value: T;
  revision: number;
}

/** Reads a record from the leader. One request. */
export async function readRecord<T>(deps: Deps, bucket: string, key: string): Promise<Versioned<T> | null> {
  const entry = await deps.store.kvGet(bucket, key);
  return entry === null ? null : { key, value: entry.json<T>(), revision: entry.revision };
}

/** @throws Conflict if the record has changed */
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

export function readAccount(deps: Deps, realm: Realm, sub: string): Promise<Versioned<AccountRecord> | null> {
  return readRecord<AccountRecord>(deps, realm.buckets.accounts, keys.account(realm, sub));
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

/** Stores a passkey for the first time. @throws AppError conflict `passkey_known` if the realm has it already */
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
 * Changes an account by compare-and-set, and retries on a conflict.
 * @param change returns the new record, or null to keep the old one
 * @throws AppError not_found, and any error of `change`
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
const MAX_CATCH_UPS = 50;

/** A page of a bucket's keys in the order of their last change, without deleted ones. */
export interface RecordPage<T> {
  records: Versioned<T>[];
  /** Start of the next page; null at the end. */
  next: number | null;
}

/**
 * Records whose keys match a filter, as fresh as the leader's: reads again if the page came from a lagging replica.
 * Two requests in one round trip.
 * @param least revision of a key that the last page must have reached
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
  for (let attempt = 0; attempt < MAX_CATCH_UPS; attempt++) {
    const [newest, page] = await Promise.all([
      deps.store.get(stream, subject),
      deps.store.scan(stream, subject, { fromSeq, limit, maxBytes: READ_BYTES }),
    ]);
    const last = page.messages.at(-1)?.seq ?? 0;
    const atEnd = page.pending === 0;
    const end = Math.max(newest?.seq ?? 0, least);
    if (atEnd && end >= fromSeq && end > last) {
      await pause(5);
      continue;
    }
    const prefix = kvSubject(bucket, "").length;
    const records = page.messages
      .filter((message) => !isMarker(message))
      .map((message) => ({
        key: message.subject.slice(prefix),
        value: message.json<T>(),
        revision: message.seq,
      }));
    return { records, next: atEnd ? null : last + 1 };
  }
  throw unavailable("a replica lags behind");
}

/** All records, page by page. */
async function* recordPages<T>(
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

/** Seconds after which the broker removes the key that {@link recordsToRevoke} writes. */
const MARK_SECONDS = 60;

/**
 * All records, page by page, for ending or revoking them: a record that is missed here stays valid.
 *
 * A broker that was cut off or stopped may believe for seconds that it still leads the bucket. Both reads of
 * {@link pageRecords} can then lack the newest records. So this writes a deleted key that the filter matches, which only
 * the true leader can store, and reads until it has come to that key.
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

/** All records at once. Only for small sets: platform admins, the invitations of a realm. */
export async function listRecords<T>(deps: Deps, bucket: string, filter: string): Promise<Versioned<T>[]> {
  const all: Versioned<T>[] = [];
  for await (const page of recordPages<T>(deps, bucket, filter)) all.push(...page);
  return all;
}
