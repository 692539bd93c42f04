/** The passkey, or the identity at a provider, with which a user signs in to a new account. */
import type { Deps } from "../../deps.ts";
import { type AccountRecord, type CredentialRecord, createCredential } from "../accounts.ts";
import { keys, type Realm } from "../realms.ts";

export interface Means {
  /** Stored as `credential` in the sessions that this passkey or identity starts. */
  credential: string;
  /** The part of the account record that lists the passkey or identity. */
  listed: Pick<AccountRecord, "credentials" | "identities">;
  /**
   * Writes the record of the passkey or identity. The record has no effect until the account lists it.
   * @throws AppError conflict if the passkey or identity is already registered
   */
  write: () => Promise<void>;
  /** Removes the record that `write` stored. */
  remove: () => Promise<void>;
}

export type NewAccount = Pick<AccountRecord, "id" | "name" | "email">;

export function newRecord(
  deps: Deps,
  person: NewAccount,
  { listed }: Means,
  terms: Pick<AccountRecord, "role" | "status" | "invitation">,
): AccountRecord {
  const now = new Date(deps.clock.now()).toISOString();
  return { v: 1, ...person, ...terms, ...listed, createdAt: now, updatedAt: now };
}

export async function passkeyMeans(deps: Deps, realm: Realm, credential: CredentialRecord): Promise<Means> {
  const key = await keys.credential(realm, credential.id);
  return {
    credential: credential.id,
    listed: { credentials: [credential.id] },
    write: () => createCredential(deps, realm, key, credential),
    remove: async () => {
      await deps.store.kvDelete(realm.buckets.credentials, key, { ttl: 60 });
    },
  };
}
