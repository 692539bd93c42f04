import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { type AccountRecord, type CredentialRecord, readAccount } from "../accounts.ts";
import { audit } from "../audit.ts";
import { generatedName, keys, type Realm } from "../realms.ts";
import { type Completed, endSession, type StartedSession, sessionFor, startSession } from "../sessions.ts";
import { requireOpenSignup } from "../settings.ts";
import type { Challenge } from "./challenges.ts";
import { type Means, type NewAccount, newRecord, passkeyMeans } from "./means.ts";
import { passkeyRefused, verifyNew } from "./verify.ts";

/** Role of every account that registers without an invitation. */
const SIGNUP_ROLE = "user";

/**
 * Registers an account without an invitation. Four round trips:
 *
 * 1. Mark the challenge as used and check that sign-up is still open.
 * 2. Write the passkey and the session. Neither is valid before the account exists.
 * 3. Create the account. **This is the commit point**: the account's id is new, so no other request can write it.
 * 4. Write the audit record.
 *
 * A crash before step 3 leaves a passkey that no account lists, so it cannot be used. After a later crash, the user can
 * sign in with the passkey.
 */
export async function signUp(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: RegistrationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const { account: sub } = challenge;
  if (sub === null) throw passkeyRefused();
  await Promise.all([admitted, requireOpenSignup(deps, realm)]);
  const verified = await verifyNew(deps, challenge, response);
  const credential: CredentialRecord = { ...verified, account: sub, name: "Passkey 1" };
  const person = { id: sub, name: challenge.name ?? generatedName(sub), email: challenge.email };
  return registerOpen(deps, realm, person, await passkeyMeans(deps, realm, credential));
}

/**
 * Creates an account that has a passkey or an identity at a provider, and starts its session. These are steps 2 to 4 of
 * {@link signUp}.
 */
export async function registerOpen(
  deps: Deps,
  realm: Realm,
  person: NewAccount,
  means: Means,
): Promise<Completed> {
  const sub = person.id;
  const account = newRecord(deps, person, means, { role: SIGNUP_ROLE, status: "active", invitation: null });
  const session = await writeParts(deps, realm, account, means);
  const created = await create(deps, realm, account);
  await audit(deps, { realm: realm.name, action: "register", actor: { sub }, target: sub, detail: "signup" });
  return { session, account: created };
}

/**
 * Writes the new session, and the passkey or the identity at a provider. If one write fails, removes what the other has
 * written.
 */
async function writeParts(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
  means: Means,
): Promise<StartedSession> {
  const [session, written] = await Promise.allSettled([
    startSession(deps, sessionFor(realm, account, means.credential)),
    means.write(),
  ]);
  if (session.status === "fulfilled" && written.status === "fulfilled") return session.value;
  if (session.status === "fulfilled") await endSession(deps, realm.name, account.id, session.value.sid);
  // Remove the passkey or identity only if this request wrote it. If the write was rejected, the record may belong to
  // another account.
  if (written.status === "fulfilled") await means.remove();
  throw written.status === "rejected" ? written.reason : (session as PromiseRejectedResult).reason;
}

async function create(deps: Deps, realm: Realm, account: AccountRecord): Promise<AccountRecord> {
  const key = keys.account(realm, account.id);
  const put = deps.store.kvPut(realm.buckets.accounts, key, JSON.stringify(account), { expect: 0 });
  if ((await nullOnConflict(put)) !== null) return account;
  // The account is already stored: the broker's response to an earlier attempt was lost. That attempt belongs to this
  // request, because each challenge can be used only once.
  const found = await readAccount(deps, realm, account.id);
  if (found === null) throw passkeyRefused();
  return found.value;
}
