/** What a new account signs in with: a passkey, or the identity of a provider. */
import type { Deps } from "../../deps.ts";
import { type AccountRecord, type CredentialRecord, createCredential } from "../accounts.ts";
import { keys, type Realm } from "../realms.ts";

export interface Means {
  /** Value of `credential` in the sessions that it starts. */
  credential: string;
  /** How the account lists it. */
  listed: Pick<AccountRecord, "credentials" | "identities">;
  /** Writes its record, which does not count until the account lists it. @throws AppError conflict */
  write: () => Promise<void>;
  /** Removes the record that `write` has written. */
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
