/**
 * Identities at OpenID Connect providers, and their links to accounts. An identity is never matched to an account by
 * email address.
 */
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { nullOnConflict } from "../../store/pages.ts";
import {
  type AccountRecord,
  changeAccount,
  type LinkedIdentity,
  readAccount,
  readRecord,
  type Versioned,
} from "../accounts.ts";
import type { Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { requireOwn } from "../authorize.ts";
import { activated } from "../ceremony/index.ts";
import { canSignInWithout, credentialOfIdentity } from "../passkeys.ts";
import { keys, type Realm } from "../realms.ts";
import { refusal } from "../refusals.ts";
import { endSessions } from "../sessions.ts";

export const IDENTITY_LIMIT = 10;

/**
 * Milliseconds within which a request that wrote an identity must finish. After that, the identity can be replaced if
 * no account lists it.
 */
const IN_PROGRESS_MS = 60_000;

export interface IdentityRecord {
  v: 1;
  /** SHA-256 of the issuer and the subject. */
  id: string;
  account: string;
  issuer: string;
  subject: string;
  /** Email address or name of the user at the provider, so that people can recognise the identity. */
  label: string | null;
  createdAt: string;
}

export const identityId = (issuer: string, subject: string) => sha256(JSON.stringify([issuer, subject]));

export const hasIdentity = ({ identities = [] }: AccountRecord, id: string) =>
  identities.some((identity) => identity.id === id);

export function linkOf({ id, issuer }: IdentityRecord): LinkedIdentity {
  return { id, issuer };
}

export interface FoundIdentity {
  record: Versioned<IdentityRecord> | null;
  /** The account that lists the identity; null if there is none. */
  account: AccountRecord | null;
}

/** Returns the record of an identity and the account that lists the identity. */
export async function findIdentity(deps: Deps, realm: Realm, id: string): Promise<FoundIdentity> {
  const record = await readRecord<IdentityRecord>(deps, realm.buckets.credentials, keys.identity(realm, id));
  if (record === null) return { record, account: null };
  const found = await readAccount(deps, realm, record.value.account);
  const account = found === null ? null : await activated(deps, realm, found);
  return { record, account: account !== null && hasIdentity(account, id) ? account : null };
}

function identityKnown(): AppError {
  const detail = "This identity is linked to another account. Sign in with it, and unlink it there first.";
  return new AppError("conflict", "identity_known", detail);
}

/** Throws 409 if the identity is linked to an account, or if another request may be linking it at the moment. */
export function requireFree(deps: Deps, { record, account }: FoundIdentity): void {
  if (account !== null) throw identityKnown();
  if (record === null || Date.parse(record.value.createdAt) + IN_PROGRESS_MS <= deps.clock.now()) return;
  const detail = "Another request is using this identity. Try again in a minute.";
  throw new AppError("conflict", "identity_in_use", detail);
}

/**
 * Writes an identity. The identity has no effect until an account lists it. Replaces an existing record that no account
 * lists.
 * @returns a function that deletes the record
 */
export async function writeIdentity(
  deps: Deps,
  realm: Realm,
  before: FoundIdentity,
  identity: IdentityRecord,
): Promise<() => Promise<void>> {
  const { credentials } = realm.buckets;
  const key = keys.identity(realm, identity.id);
  const expect = before.record?.revision ?? 0;
  const revision = await nullOnConflict(
    deps.store.kvPut(credentials, key, JSON.stringify(identity), { expect }),
  );
  if (revision === null) throw identityKnown();
  return async () => {
    // A conflict means that a later request has replaced the record. Keep the record of that later request.
    await nullOnConflict(deps.store.kvDelete(credentials, key, { expect: revision, ttl: 60 }));
  };
}

export interface Identity {
  id: string;
  /** Id of the provider in the application's document; null if the application has removed the provider. */
  provider: string | null;
  issuer: string;
  label: string | null;
  createdAt: string;
}

/** Lists the identities of the signed-in account, oldest first. */
export async function listIdentities(deps: Deps, actor: Actor, realm: Realm): Promise<Identity[]> {
  requireOwn(actor, realm.name, "identities");
  const account = await readAccount(deps, realm, actor.sub);
  if (account === null) throw refusal(actor);
  const records = await Promise.all(
    (account.value.identities ?? []).map(({ id }) =>
      readRecord<IdentityRecord>(deps, realm.buckets.credentials, keys.identity(realm, id)),
    ),
  );
  return records.flatMap((record) => {
    if (record === null) return [];
    const { id, issuer, label, createdAt } = record.value;
    const provider = realm.providers.find((one) => one.issuer === issuer)?.id ?? null;
    return [{ id, provider, issuer, label, createdAt }];
  });
}

/**
 * Unlinks an identity from the signed-in account. Ends the sessions that the identity started, except the session
 * that sent this request. After an interruption, a repeated request finishes the work.
 * @throws AppError conflict if the identity is the account's last way to sign in
 */
export async function unlink(deps: Deps, actor: Actor, input: { realm: Realm; id: string }): Promise<void> {
  const { realm, id } = input;
  requireOwn(actor, realm.name, "identities");
  const { sub, sid } = actor;
  const { credentials } = realm.buckets;
  const record = /^[\w-]{43}$/.test(id)
    ? await readRecord<IdentityRecord>(deps, credentials, keys.identity(realm, id))
    : null;
  if (record?.value.account !== sub) throw notFound("identity");
  await changeAccount(deps, realm, sub, (account) => {
    if (!hasIdentity(account, id)) return null;
    if (!canSignInWithout(deps, realm, account, credentialOfIdentity(id))) {
      const detail = "The last way to sign in to an account cannot be removed. Add a passkey first.";
      throw new AppError("conflict", "last_identity", detail);
    }
    return { ...account, identities: account.identities?.filter((other) => other.id !== id) };
  });
  await endSessions(deps, realm.name, sub, { credential: credentialOfIdentity(id), but: sid });
  // A conflict means that another request has linked the identity again. Keep the record of that request.
  const removed = deps.store.kvDelete(credentials, record.key, { expect: record.revision, ttl: 60 });
  await Promise.all([
    nullOnConflict(removed),
    audit(deps, { realm: realm.name, action: "identity", actor, target: sub, detail: "unlinked" }),
  ]);
}
