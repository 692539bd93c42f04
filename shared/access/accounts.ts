/** Accounts and their passkeys, as they are stored. */
import type { Deps } from "../deps.ts";
import { notFound, unavailable } from "../errors.ts";
import { pause } from "../pause.ts";
import { READ_BYTES } from "../store/budget.ts";
import { isMarker } from "../store/store.ts";
import { kvSubject, streams } from "../store/subjects.ts";
import { Conflict } from "../store/types.ts";
import type { Role } from "./actor.ts";
import { keys, type Realm } from "./realms.ts";

export type AccountRole = Exclude<Role, "public">;

/**
 * One account. `pending`: it counts once the invitation that it names also names it; that is the commit point of a
 * registration. Only the credentials that it lists are its passkeys.
 */
export interface AccountRecord {
  v: 1;
  id: string;
  name: string;
  email: string | null;
  role: AccountRole;
  status: "pending" | "active" | "disabled";
  /** Key of the invitation that made it. */
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

/** A record with the revision that a compare-and-set expects. */
export interface Versioned<T> {
  key: string;
  value: T;
  revision: number;
}

/** Reads a record, as the leader has it. One request. */
export async function readRecord<T>(deps: Deps, bucket: string, key: string): Promise<Versioned<T> | null> {
  const entry = await deps.store.kvGet(bucket, key);
  return entry === null ? null : { key, value: entry.json<T>(), revision: entry.revision };
}

/** @throws Conflict when it was changed meanwhile */
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

/**
 * Changes an account by compare-and-set, again when somebody else was faster.
 * @param change gives the new record, or null to leave it
 * @throws AppError not_found, and whatever `change` throws
 */
export async function changeAccount(
  deps: Deps,
  realm: Realm,
  sub: string,
  change: (account: AccountRecord) => AccountRecord | null,
): Promise<AccountRecord> {
  for (let attempt = 0; ; attempt++) {
    const found = await readAccount(deps, realm, sub);
    if (found === null) throw notFound("user");
    const changed = change(found.value);
    if (changed === null) return found.value;
    changed.updatedAt = new Date(deps.clock.now()).toISOString();
    try {
      return (await replaceRecord(deps, realm.buckets.accounts, found, changed)).value;
    } catch (error) {
      if (!(error instanceof Conflict) || attempt >= 8) throw error;
    }
  }
}

const PAGE = 256;
const PATIENCE = 50;

/** A page of a bucket's keys in the order of their last change. Deleted ones are left out. */
export interface RecordPage<T> {
  records: Versioned<T>[];
  /** Where the next page begins; null at the end. */
  next: number | null;
}

/**
 * Records whose keys match a filter, as fresh as the leader: a page that a lagging replica answered is asked for again.
 * Two requests in one round trip.
 */
export async function pageRecords<T>(
  deps: Deps,
  bucket: string,
  filter: string,
  fromSeq: number,
  limit = PAGE,
): Promise<RecordPage<T>> {
  const stream = streams.kv(bucket);
  const subject = kvSubject(bucket, filter);
  for (let attempt = 0; attempt < PATIENCE; attempt++) {
    const [newest, page] = await Promise.all([
      deps.store.get(stream, subject),
      deps.store.scan(stream, subject, { fromSeq, limit, maxBytes: READ_BYTES }),
    ]);
    const last = page.messages.at(-1)?.seq ?? 0;
    const atEnd = page.pending === 0;
    if (atEnd && newest !== null && newest.seq >= fromSeq && newest.seq > last) {
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

/** All of them, a page at a time. */
export async function* recordPages<T>(
  deps: Deps,
  bucket: string,
  filter: string,
): AsyncGenerator<Versioned<T>[]> {
  for (let from: number | null = 1; from !== null; ) {
    const page: RecordPage<T> = await pageRecords<T>(deps, bucket, filter, from);
    yield page.records;
    from = page.next;
  }
}

/** All of them at once, for what fits into memory: platform admins, the invitations of a realm. */
export async function listRecords<T>(deps: Deps, bucket: string, filter: string): Promise<Versioned<T>[]> {
  const all: Versioned<T>[] = [];
  for await (const page of recordPages<T>(deps, bucket, filter)) all.push(...page);
  return all;
}
