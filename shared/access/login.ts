import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import { base64url } from "jose";
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { isToken } from "../store/subjects.ts";
import { Conflict } from "../store/types.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  readAccount,
  readCredential,
  replaceRecord,
  type Versioned,
} from "./accounts.ts";
import { audit } from "./audit.ts";
import { counts } from "./bootstrap.ts";
import type { Challenge } from "./challenges.ts";
import type { Realm } from "./realms.ts";
import { type Completed, endSession, sessionFor, startSession } from "./sessions.ts";
import { passkeyRefused, verifyKnown } from "./verify.ts";

/** The account that the authenticator says the passkey is of; the passkey's record has the last word. */
function accountHint(userHandle: string | undefined): string | null {
  try {
    const id = new TextDecoder().decode(base64url.decode(userHandle ?? ""));
    return isToken(id) ? id : null;
  } catch {
    return null;
  }
}

/** Signs in with a passkey that the realm knows. */
export async function login(
  deps: Deps,
  realm: Realm,
  challenge: Challenge,
  response: AuthenticationResponseJSON,
  admitted: Promise<unknown>,
): Promise<Completed> {
  const hint = accountHint(response.response.userHandle);
  const [, credential, hinted] = await Promise.all([
    admitted,
    readCredential(deps, realm, response.id),
    hint === null ? null : readAccount(deps, realm, hint),
  ]);
  const told = await verifyKnown(deps, challenge, response, credential?.value ?? null);
  if (credential === null) throw passkeyRefused();
  const sub = credential.value.account;
  if (hint !== null && hint !== sub) throw passkeyRefused();
  const account = hint === null ? await readAccount(deps, realm, sub) : hinted;
  const usable = account === null ? null : await activated(deps, realm, account);
  if (usable === null || !usable.credentials.includes(credential.value.id)) throw passkeyRefused();
  // Whoever gets here holds the passkey: this may be told.
  if (usable.status !== "active") throw disabled();

  const [session] = await Promise.all([
    startSession(deps, sessionFor(realm, usable, credential.value.id)),
    rememberUse(deps, realm, credential, told),
  ]);
  // Removing or disabling an account writes the account first and ends its sessions then. A session that was written
  // after that is caught here.
  const [now] = await Promise.all([
    readAccount(deps, realm, sub),
    audit(deps, { realm: realm.name, action: "signin", actor: { sub }, target: sub, outcome: "ok" }),
  ]);
  if (now === null || now.value.status !== "active" || now.value.role !== usable.role) {
    await endSession(deps, realm.name, sub, session.sid);
    throw disabled();
  }
  if (!now.value.credentials.includes(credential.value.id)) {
    await endSession(deps, realm.name, sub, session.sid);
    throw passkeyRefused();
  }
  return { session, account: now.value };
}

function disabled(): AppError {
  return new AppError("forbidden", "account_disabled", "This account may not sign in any more.");
}

/**
 * A registration that was cut short after its commit point is finished by the first sign-in.
 * @returns null when the account never came to be
 */
async function activated(
  deps: Deps,
  realm: Realm,
  account: Versioned<AccountRecord>,
): Promise<AccountRecord | null> {
  if (account.value.status !== "pending") return account.value;
  if (!(await counts(deps, realm, account.value))) return null;
  const active: AccountRecord = { ...account.value, status: "active" };
  try {
    return (await replaceRecord(deps, realm.buckets.accounts, account, active)).value;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return (await readAccount(deps, realm, account.value.id))?.value ?? null;
  }
}

/**
 * Keeps the signature counter. When another sign-in with the same passkey was faster, the counter must have gone on
 * from there too; authenticators without a counter always tell 0.
 */
async function rememberUse(
  deps: Deps,
  realm: Realm,
  credential: Versioned<CredentialRecord>,
  told: { counter: number; backedUp: boolean },
): Promise<void> {
  let known = credential;
  for (let attempt = 0; ; attempt++) {
    const value: CredentialRecord = {
      ...known.value,
      ...told,
      lastUsedAt: new Date(deps.clock.now()).toISOString(),
    };
    try {
      await replaceRecord(deps, realm.buckets.credentials, known, value);
      return;
    } catch (error) {
      if (!(error instanceof Conflict) || attempt >= 8) throw error;
    }
    if (told.counter === 0) return;
    const fresh = await readCredential(deps, realm, credential.value.id);
    if (fresh === null || fresh.value.counter >= told.counter) throw passkeyRefused();
    known = fresh;
  }
}
