import type { Deps } from "../deps.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { type AccountRecord, changeAccount, readAccount, readCredential, replaceRecord } from "./accounts.ts";
import type { Actor } from "./actor.ts";
import { audit } from "./audit.ts";
import { requireOwn } from "./authorize.ts";
import { keys, type Realm } from "./realms.ts";
import { refusal } from "./refusals.ts";
import { endSessions } from "./sessions.ts";

export interface Passkey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
  /** Whether the passkey is synchronised between devices. */
  backedUp: boolean;
  transports: string[];
}

function own(
  actor: Actor,
  realm: Realm,
  operation: "passkeys.read" | "passkeys.write",
): { sub: string; sid: string } {
  requireOwn(actor, realm.name, operation);
  return actor;
}

/** Returns the passkeys of the signed-in account, oldest first. */
export async function listPasskeys(deps: Deps, actor: Actor, realm: Realm): Promise<Passkey[]> {
  const account = await readAccount(deps, realm, own(actor, realm, "passkeys.read").sub);
  if (account === null) throw refusal(actor);
  const all = await Promise.all(account.value.credentials.map((id) => readCredential(deps, realm, id)));
  return all.flatMap((credential) => {
    if (credential === null) return [];
    const { id, name, createdAt, lastUsedAt, backedUp, transports } = credential.value;
    return [{ id, name, createdAt, lastUsedAt, backedUp, transports }];
  });
}

/** @throws AppError not_found if the passkey does not belong to the actor */
export async function renamePasskey(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; id: string; name: string },
): Promise<Passkey> {
  const { realm, id, name } = input;
  const { sub } = own(actor, realm, "passkeys.write");
  const credential = await readCredential(deps, realm, id);
  if (credential?.value.account !== sub) throw notFound("passkey");
  const { value } = await replaceRecord(deps, realm.buckets.credentials, credential, {
    ...credential.value,
    name,
  });
  const { createdAt, lastUsedAt, backedUp, transports } = value;
  return { id, name, createdAt, lastUsedAt, backedUp, transports };
}

/**
 * A request that adds a passkey or an identity (an account at a provider) counts as interrupted after this many
 * milliseconds.
 */
const JOINING_MS = 60_000;

/**
 * Returns the name of an identity (an account at a provider) where a record may name a passkey or an identity. Ids of
 * passkeys contain no dot, so the two cannot be confused.
 */
export const credentialOfIdentity = (id: string) => `identity.${id}`;

/**
 * Marks a passkey or an identity as being added. If the session ends in the meantime, the request that adds the passkey
 * or identity removes it again. Until the mark is removed, the passkey or identity does not count as a way to sign in.
 */
export function joining(deps: Deps, account: AccountRecord, credential: string): AccountRecord {
  const now = deps.clock.now();
  const others = (account.joining ?? []).filter(({ until }) => until > now);
  return { ...account, joining: [...others, { credential, until: now + JOINING_MS }] };
}

/**
 * Removes the mark that {@link joining} set, once it is certain whether the passkey or identity stays in the account.
 */
export function joined(account: AccountRecord, credential: string): AccountRecord {
  const others = (account.joining ?? []).filter((other) => other.credential !== credential);
  return { ...account, joining: others.length === 0 ? undefined : others };
}

/**
 * Returns whether the user could still sign in after this passkey or identity is removed. Counts only passkeys and
 * providers that the application offers for sign-in.
 * @param credential id of the passkey, or `identity.<id>`
 */
export function canSignInWithout(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
  credential: string,
): boolean {
  const now = deps.clock.now();
  const uncertain = (account.joining ?? []).filter(({ until }) => until > now);
  const ignored = new Set([credential, ...uncertain.map((one) => one.credential)]);
  const issuers = new Set(realm.providers.map(({ issuer }) => issuer));
  const usable = (account.identities ?? []).filter(({ issuer }) => issuers.has(issuer));
  return (
    (realm.handlers.has("passkey") && account.credentials.some((id) => !ignored.has(id))) ||
    usable.some(({ id }) => !ignored.has(credentialOfIdentity(id)))
  );
}

/**
 * Removes a passkey, unless it is the account's last way to sign in. Concurrent requests cannot remove the last one
 * either.
 */
export async function removePasskey(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; id: string },
): Promise<void> {
  const { realm, id } = input;
  const { sub, sid } = own(actor, realm, "passkeys.write");
  await changeAccount(deps, realm, sub, (account) => {
    if (!account.credentials.includes(id)) throw notFound("passkey");
    if (!canSignInWithout(deps, realm, account, id)) {
      throw new AppError(
        "conflict",
        "last_passkey",
        "The last way to sign in to an account cannot be removed. Add another passkey first.",
      );
    }
    return { ...account, credentials: account.credentials.filter((other) => other !== id) };
  });
  // End the sessions that this passkey started.
  await endSessions(deps, realm.name, sub, { credential: id, but: sid });
  await Promise.all([
    deps.store.kvDelete(realm.buckets.credentials, await keys.credential(realm, id), { ttl: 60 }),
    audit(deps, { realm: realm.name, action: "passkey", actor, target: sub, detail: "removed" }),
  ]);
}
