import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { type AccountRecord, type CredentialRecord, changeAccount, readAccount } from "./accounts.ts";
import { audit } from "./audit.ts";
import { PASSKEY_LIMIT } from "./begin.ts";
import type { Challenge } from "./challenges.ts";
import type { Completed } from "./complete.ts";
import { keys, type Realm } from "./realms.ts";
import { createCredential } from "./register.ts";
import { startSession } from "./sessions.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/** Adds a passkey to an account. It counts from the moment in which the account lists it. */
export async function add(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub } = challenge;
  if (sub === null) throw passkeyRefused();
  const [, found] = await Promise.all([admitted, readAccount(deps, realm, sub)]);
  const verified = await verifyNew(deps, challenge, response);
  if (found?.value.status !== "active") throw passkeyRefused();
  const { role, name, email, credentials } = found.value;
  const credential: CredentialRecord = {
    ...verified,
    account: sub,
    name: `Passkey ${credentials.length + 1}`,
  };
  const key = await keys.credential(realm, credential.id);
  const [session] = await Promise.all([
    startSession(deps, {
      realm: realm.name,
      sub,
      role,
      name,
      email,
      credential: credential.id,
      ttl: realm.sessionSeconds,
    }),
    createCredential(deps, realm, key, credential),
  ]);
  const listed = (current: AccountRecord): AccountRecord => {
    if (current.status !== "active" || current.role !== role) throw passkeyRefused();
    if (current.credentials.length >= PASSKEY_LIMIT) {
      throw new AppError(
        "conflict",
        "too_many_passkeys",
        `An account has at most ${PASSKEY_LIMIT} passkeys.`,
      );
    }
    return { ...current, credentials: [...current.credentials, credential.id] };
  };
  const account = await changeAccount(deps, realm, sub, listed).catch(async (error: unknown) => {
    // A passkey that no account lists is of no use, and would stand in the way of the next attempt.
    await deps.store.kvDelete(realm.buckets.credentials, key, { ttl: 60 });
    throw error;
  });
  await audit(deps, {
    realm: realm.name,
    action: "passkey",
    actor: { sub },
    target: sub,
    outcome: "ok",
    detail: "added",
  });
  return { session, account };
}
