import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  changeAccount,
  createCredential,
  type Recovered,
  readAccount,
  readRecord,
} from "../accounts.ts";
import { hasValidCreator, type InvitationRecord, invitationEnded } from "../invitations.ts";
import { keys, type Realm } from "../realms.ts";
import {
  codeRefused,
  finishRecoveries,
  requireCodes,
  requireOpen,
  requireRecoverable,
} from "../recovery/index.ts";
import { type Completed, endSession, sessionFor, startSession } from "../sessions.ts";
import { requireRoom } from "./begin.ts";
import type { Challenge } from "./challenges.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/** A recovery, by a recovery link or by a recovery code. */
interface Way {
  by: Recovered["by"];
  /** The account before the recovery. */
  account: AccountRecord;
  /** Hash of the recovery link; null for a recovery code. */
  link: string | null;
  /** Throws if the account does not accept the recovery link or code. */
  require: (account: AccountRecord | undefined) => void;
  refused: () => AppError;
  /**
   * Returns whether the creator of the recovery link may still manage the account. Always true for a recovery code,
   * which the account's own user created.
   */
  isValid: () => Promise<boolean>;
}

async function wayOf(deps: Deps, realm: Realm, sub: string, challenge: Challenge): Promise<Way> {
  const { invitation: bound, codes = null } = challenge;
  if (codes !== null) {
    const found = await readAccount(deps, realm, sub);
    const require = (account: AccountRecord | undefined) => requireCodes(account, codes);
    require(found?.value);
    if (found === null) throw codeRefused();
    const isValid = () => Promise.resolve(true);
    return { by: "codes", account: found.value, link: null, require, refused: codeRefused, isValid };
  }
  if (bound === null) throw passkeyRefused();
  const record = await readRecord<InvitationRecord>(deps, realm.buckets.invitations, bound.key);
  const { invitation, account } = await requireOpen(deps, realm, record);
  const link = invitation.value;
  if (account?.value.id !== sub) throw passkeyRefused();
  return {
    by: "link",
    account: account.value,
    link: link.hash,
    require: (current) => requireRecoverable(current, link),
    refused: () => invitationEnded("revoked", link),
    isValid: () => hasValidCreator(deps, realm, link),
  };
}

/**
 * Errors that prove that the account does not list the new passkey. After any other error, keep the passkey, because
 * the account may list it.
 */
export const CERTAIN: ReadonlySet<string> = new Set(["gone", "conflict", "not_found", "unauthenticated"]);

/**
 * Adds a passkey to the account of a recovery link or a recovery code.
 *
 * 1. Mark the challenge as used. Check the link or code, and the account.
 * 2. Write the passkey. No account lists it yet.
 * 3. Change the account: list the new passkey, invalidate the link or the codes, and record the remaining cleanup.
 *    **This is the commit point**: if several requests use or revoke the link or the code, or change the account, the
 *    first write wins.
 * 4. Finish the cleanup: end all sessions, delete the removed passkeys and the invalid codes, and close the link. Then
 *    start a session.
 *
 * After a crash before step 3, the link or code is still valid. After a later crash, the next sign-in with the new
 * passkey performs step 4.
 */
export async function recover(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub, removes = false } = challenge;
  if (sub === null) throw passkeyRefused();
  const reading = wayOf(deps, realm, sub, challenge);
  // The code below awaits this promise later. If the promise is rejected before that, Node.js would report an unhandled
  // rejection without this line.
  reading.catch(() => undefined);
  await admitted;
  const verified = await verifyNew(deps, challenge, response);
  const way = await reading;
  const number = removes ? 1 : way.account.credentials.length + 1;
  const credential: CredentialRecord = { ...verified, account: sub, name: `Passkey ${number}` };
  const key = await keys.credential(realm, credential.id);
  const [isValid] = await Promise.all([way.isValid(), createCredential(deps, realm, key, credential)]);
  let changed: AccountRecord;
  try {
    if (!isValid) throw way.refused();
    changed = await changeAccount(deps, realm, sub, (current) =>
      recovered(current, way, credential.id, removes),
    );
  } catch (error) {
    if (error instanceof AppError && CERTAIN.has(error.kind)) {
      await deps.store.kvDelete(realm.buckets.credentials, key, { ttl: 60 });
      // The account was removed during the recovery.
      if (error.kind === "not_found") throw way.refused();
    }
    throw error;
  }
  const finished = await finishRecoveries(deps, realm, changed);
  const session = await startSession(deps, sessionFor(realm, finished, credential.id));
  // While the new session was being stored, another request may have disabled the account and ended its sessions. So
  // check the account again.
  const now = (await readAccount(deps, realm, sub))?.value;
  const lasts = now?.status === "active" && now.role === finished.role;
  if (!lasts || !now.credentials.includes(credential.id)) {
    await endSession(deps, realm.name, sub, session.sid);
    throw passkeyRefused();
  }
  return { session, account: now };
}

/**
 * Returns the changed account. Returns null if the account already lists the passkey: an earlier attempt succeeded, but
 * its response was lost.
 */
function recovered(
  current: AccountRecord,
  way: Way,
  passkey: string,
  removes: boolean,
): AccountRecord | null {
  if (current.credentials.includes(passkey)) return null;
  way.require(current);
  if (!removes) requireRoom(current);
  const { by, link } = way;
  const voids = removes || by === "codes";
  const work: Recovered = {
    by,
    link,
    codes: voids ? (current.codes?.set ?? null) : null,
    removed: removes ? current.credentials : null,
    // Unlink the identities too: an attacker with access to the account could have linked an identity of their own.
    ...(removes ? { unlinked: current.identities?.map(({ id }) => id) } : {}),
  };
  return {
    ...current,
    status: "active",
    credentials: removes ? [passkey] : [...current.credentials, passkey],
    identities: removes ? undefined : current.identities,
    recovery: by === "link" ? undefined : current.recovery,
    codes: voids ? undefined : current.codes,
    recovered: [...(current.recovered ?? []), work],
  };
}
