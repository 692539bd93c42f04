import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { nullOnConflict, untilWritten } from "../../store/pages.ts";
import { Conflict } from "../../store/types.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  readRecord,
  replaceRecord,
  type Versioned,
} from "../accounts.ts";
import { audit } from "../audit.ts";
import { hasOwner } from "../bootstrap.ts";
import { hasValidCreator, type InvitationRecord, invitationEnded, requireUsable } from "../invitations.ts";
import { generatedName, keys, type Realm } from "../realms.ts";
import { type Completed, endSession, type StartedSession, sessionFor, startSession } from "../sessions.ts";
import type { Challenge } from "./challenges.ts";
import { type Means, type NewAccount, newRecord, passkeyMeans } from "./means.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/**
 * Registers an account with an invitation. Four round trips:
 *
 * 1. Mark the challenge as used and read the invitation.
 * 2. Write the passkey, the account (`pending`) and the session. None of them works yet.
 * 3. Write the account's id into the invitation, provided that the invitation is unchanged. **This is the commit
 *    point**: of several registrations with one invitation, only one succeeds.
 * 4. Activate the account and write the audit record.
 *
 * A crash before step 3 leaves the invitation valid. After a crash later, the first sign-in finishes the registration.
 */
export async function register(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub, invitation: bound, email } = challenge;
  if (sub === null || bound === null) throw passkeyRefused();
  const name = challenge.name ?? generatedName(sub);
  const [, found] = await Promise.all([
    admitted,
    readRecord<InvitationRecord>(deps, realm.buckets.invitations, bound.key),
  ]);
  // A newer bootstrap invitation may have replaced this one under the fixed storage key. The older one is then stored
  // under its hash.
  const invitation =
    found?.value.hash === bound.hash
      ? found
      : await readRecord<InvitationRecord>(
          deps,
          realm.buckets.invitations,
          keys.invitation(realm, bound.hash),
        );
  const verified = await verifyNew(deps, challenge, response);
  requireUsable(invitation, deps.clock.now());
  const credential: CredentialRecord = { ...verified, account: sub, name: "Passkey 1" };
  const means = await passkeyMeans(deps, realm, credential);
  return registerInvited(deps, realm, invitation, { id: sub, name, email }, means);
}

/** Performs steps 2 to 4 of {@link register}. The new account gets a passkey or an identity at a provider. */
export async function registerInvited(
  deps: Deps,
  realm: Realm,
  invitation: Versioned<InvitationRecord>,
  person: NewAccount,
  means: Means,
): Promise<Completed> {
  // A recovery link cannot be used to register an account.
  if (invitation.value.recovers !== undefined) throw passkeyRefused();
  if (invitation.value.bootstrap && (await hasOwner(deps, realm))) {
    throw new AppError(
      "gone",
      "invitation_revoked",
      "This invitation was revoked, because there is an owner now. Ask an owner for a new one.",
    );
  }

  const sub = person.id;
  const { role } = invitation.value;
  const terms = { role, status: "pending", invitation: invitation.key } as const;
  const account = newRecord(deps, person, means, terms);
  const pending = await writePending(deps, realm, invitation.value, account, means);
  const { session } = pending;

  try {
    await commit(deps, realm, invitation, sub);
  } catch (error) {
    if (error instanceof AppError && error.kind === "gone") {
      // Another registration has used the invitation, so remove everything that this registration wrote.
      await Promise.all([
        deps.store.kvDelete(realm.buckets.accounts, pending.account.key, {
          expect: pending.account.revision,
          ttl: 60,
        }),
        means.remove(),
        endSession(deps, realm.name, sub, session.sid),
      ]);
    }
    throw error;
  }

  const [active] = await Promise.all([
    activate(deps, realm, pending.account),
    audit(deps, {
      realm: realm.name,
      action: "register",
      actor: { sub },
      target: sub,
      detail: `role_${role}`,
    }),
  ]);
  return { session, account: active };
}

/** The records that an unfinished registration has stored. They do not allow a sign-in yet. */
interface Pending {
  account: Versioned<AccountRecord>;
  session: StartedSession;
}

async function writePending(
  deps: Deps,
  realm: Realm,
  invitation: InvitationRecord,
  account: AccountRecord,
  means: Means,
): Promise<Pending> {
  const accountKey = keys.account(realm, account.id);
  const written = await Promise.allSettled([
    deps.store.kvPut(realm.buckets.accounts, accountKey, JSON.stringify(account), { expect: 0 }),
    startSession(deps, sessionFor(realm, account, means.credential)),
    means.write(),
    hasValidCreator(deps, realm, invitation).then((vouched) => {
      if (!vouched) throw invitationEnded("revoked", invitation);
    }),
  ]);
  const [first, second, third, fourth] = written;
  if (
    fourth.status === "rejected" ||
    third.status === "rejected" ||
    second.status === "rejected" ||
    first.status === "rejected"
  ) {
    // Remove what was written. If this fails, it does no harm, because nothing refers to the account or the passkey
    // yet.
    if (first.status === "fulfilled") {
      await deps.store.kvDelete(realm.buckets.accounts, accountKey, { ttl: 60 });
    }
    if (third.status === "fulfilled") await means.remove();
    if (second.status === "fulfilled") await endSession(deps, realm.name, account.id, second.value.sid);
    throw written.find((result) => result.status === "rejected")?.reason;
  }
  return {
    account: { key: accountKey, value: account, revision: first.value },
    session: second.value,
  };
}

/**
 * Commits the registration: writes the account's id into the invitation. Throws 410 if another registration used it
 * first.
 */
async function commit(
  deps: Deps,
  realm: Realm,
  invitation: Versioned<InvitationRecord>,
  sub: string,
): Promise<void> {
  let known = invitation;
  await untilWritten(async () => {
    const value: InvitationRecord = { ...known.value, status: "used", account: sub };
    if ((await nullOnConflict(replaceRecord(deps, realm.buckets.invitations, known, value))) !== null) return;
    const fresh = await readRecord<InvitationRecord>(deps, realm.buckets.invitations, invitation.key);
    // An earlier attempt succeeded, but its response was lost.
    if (fresh?.value.account === sub) return;
    if (fresh?.value.hash !== invitation.value.hash) requireUsable(null, deps.clock.now());
    requireUsable(fresh, deps.clock.now());
    known = fresh;
    throw new Conflict();
  });
}

async function activate(deps: Deps, realm: Realm, pending: Versioned<AccountRecord>): Promise<AccountRecord> {
  const active: AccountRecord = { ...pending.value, status: "active" };
  const made = await nullOnConflict(replaceRecord(deps, realm.buckets.accounts, pending, active));
  // The account was removed or disabled at the same moment.
  if (made === null) throw passkeyRefused();
  return made.value;
}
