import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  changeAccount,
  createCredential,
  readAccount,
} from "../accounts.ts";
import { audit } from "../audit.ts";
import { lastingCredential } from "../authenticate.ts";
import { joined, joining } from "../passkeys.ts";
import { keys, type Realm } from "../realms.ts";
import { type Completed, endSessions, sessionFor, startSession } from "../sessions.ts";
import { requireRoom } from "./begin.ts";
import type { Challenge } from "./challenges.ts";
import { CERTAIN } from "./recover.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/**
 * Adds a passkey to the signed-in account. Throws if the session or API token with which the user began has ended
 * since. Otherwise a thief with a stolen session could still add a passkey after the owner has ended that session.
 */
export async function add(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub, session: credential } = challenge;
  if (sub === null || typeof credential !== "string") throw passkeyRefused();
  const lasts = () => lastingCredential(deps, { realm: realm.name, sub, credential }, "leader");
  const [, found, began] = await Promise.all([admitted, readAccount(deps, realm, sub), lasts()]);
  const verified = await verifyNew(deps, challenge, response);
  if (found?.value.status !== "active" || began === null) throw passkeyRefused();
  const { role, credentials } = found.value;
  const passkey: CredentialRecord = {
    ...verified,
    account: sub,
    name: `Passkey ${credentials.length + 1}`,
  };
  const key = await keys.credential(realm, passkey.id);
  const [session] = await Promise.all([
    startSession(deps, sessionFor(realm, found.value, passkey.id)),
    createCredential(deps, realm, key, passkey),
  ]);
  const listed = (current: AccountRecord): AccountRecord => {
    // An unfinished recovery is about to end all sessions, perhaps including this one. So this session must not add a
    // passkey.
    if (current.recovered !== undefined) throw passkeyRefused();
    if (current.status !== "active" || current.role !== role) throw passkeyRefused();
    requireRoom(current);
    return joining(deps, { ...current, credentials: [...current.credentials, passkey.id] }, passkey.id);
  };
  const unlisted = (current: AccountRecord): AccountRecord => {
    const others = current.credentials.filter((id) => id !== passkey.id);
    return joined({ ...current, credentials: others }, passkey.id);
  };
  let account: AccountRecord;
  try {
    await changeAccount(deps, realm, sub, listed);
    // The session ended during the write, so the user may not know about the new passkey. Remove it.
    if ((await lasts()) === null) {
      await changeAccount(deps, realm, sub, unlisted);
      throw passkeyRefused();
    }
    account = await changeAccount(deps, realm, sub, (current) => joined(current, passkey.id));
  } catch (error) {
    // Delete the passkey only after errors that prove that the account does not list it. Otherwise the account could
    // list a deleted passkey and count it as a way to sign in.
    if (error instanceof AppError && CERTAIN.has(error.kind)) {
      await endSessions(deps, realm.name, sub, { credential: passkey.id });
      await deps.store.kvDelete(realm.buckets.credentials, key, { ttl: 60 });
    }
    throw error;
  }
  await audit(deps, { realm: realm.name, action: "passkey", actor: { sub }, target: sub, detail: "added" });
  return { session, account };
}
