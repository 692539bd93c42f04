import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  changeAccount,
  createCredential,
  readAccount,
  readRecord,
} from "../accounts.ts";
import { hasValidCreator, type InvitationRecord, invitationEnded } from "../invitations.ts";
import { keys, type Realm } from "../realms.ts";
import { finishRecoveries } from "../recovery/finish.ts";
import { requireOpen, requireRecoverable } from "../recovery/usable.ts";
import { type Completed, endSession, sessionFor, startSession } from "../sessions.ts";
import { requireRoom } from "./begin.ts";
import type { Challenge } from "./challenges.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/**
 * Adds a passkey to the account of a recovery link.
 *
 * 1. Mark the challenge as used, and check the link and its account.
 * 2. Write the passkey, which no account lists yet.
 * 3. Change the account: list the passkey, drop the link, and name the work that is left. **This is the commit point**:
 *    of several uses, revocations and changes of the account, the first one wins.
 * 4. End all sessions, delete removed passkeys, close the link. Then start a session.
 *
 * A crash before step 3 leaves the link valid. After a crash later, the new passkey's first sign-in does step 4.
 */
export async function recover(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub, invitation: bound, removes = false } = challenge;
  if (sub === null || bound === null) throw passkeyRefused();
  const [, found] = await Promise.all([
    admitted,
    readRecord<InvitationRecord>(deps, realm.buckets.invitations, bound.key),
  ]);
  const verified = await verifyNew(deps, challenge, response);
  const { invitation, account } = await requireOpen(deps, realm, found);
  if (account?.value.id !== sub) throw passkeyRefused();
  const link = invitation.value;
  const number = removes ? 1 : account.value.credentials.length + 1;
  const credential: CredentialRecord = { ...verified, account: sub, name: `Passkey ${number}` };
  const key = await keys.credential(realm, credential.id);
  const [vouched] = await Promise.all([
    hasValidCreator(deps, realm, link),
    createCredential(deps, realm, key, credential),
  ]);
  let changed: AccountRecord;
  try {
    if (!vouched) throw invitationEnded("revoked", link);
    changed = await changeAccount(deps, realm, sub, (current) =>
      recovered(current, link, credential.id, removes),
    );
  } catch (error) {
    // Other errors leave open whether the account lists the passkey.
    if (error instanceof AppError && ["gone", "conflict", "not_found"].includes(error.kind)) {
      await deps.store.kvDelete(realm.buckets.credentials, key, { ttl: 60 });
      if (error.kind === "not_found") throw invitationEnded("revoked", link);
    }
    throw error;
  }
  const finished = await finishRecoveries(deps, realm, changed);
  const session = await startSession(deps, sessionFor(realm, finished, credential.id));
  // A concurrent request may have disabled the account and ended its sessions before this session was stored.
  const now = (await readAccount(deps, realm, sub))?.value;
  const lasts = now?.status === "active" && now.role === finished.role;
  if (!lasts || !now.credentials.includes(credential.id)) {
    await endSession(deps, realm.name, sub, session.sid);
    throw passkeyRefused();
  }
  return { session, account: now };
}

/** Returns the account after the recovery; null if an earlier attempt succeeded, but its response was lost. */
function recovered(
  current: AccountRecord,
  link: InvitationRecord,
  passkey: string,
  removes: boolean,
): AccountRecord | null {
  if (current.credentials.includes(passkey)) return null;
  requireRecoverable(current, link);
  if (!removes) requireRoom(current);
  return {
    ...current,
    status: "active",
    credentials: removes ? [passkey] : [...current.credentials, passkey],
    recovery: undefined,
    recovered: [
      ...(current.recovered ?? []),
      { link: link.hash, removed: removes ? current.credentials : null },
    ],
  };
}
