import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import { base64url } from "jose";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { nullOnConflict, untilWritten } from "../../store/pages.ts";
import { isToken } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import {
  type AccountRecord,
  type CredentialRecord,
  readAccount,
  readCredential,
  replaceRecord,
  type Versioned,
} from "../accounts.ts";
import { audit } from "../audit.ts";
import { isEffective } from "../bootstrap.ts";
import type { Realm } from "../realms.ts";
import { finishRecoveries } from "../recovery/index.ts";
import { type Completed, endSession, sessionFor, startSession } from "../sessions.ts";
import type { Challenge } from "./challenges.ts";
import { passkeyRefused, verifyKnown } from "./verify.ts";

/**
 * Returns the account id that the response contains. The caller can choose it freely, so it is used only to read the
 * account early. The stored passkey decides which account signs in.
 */
function accountHint(userHandle: string | undefined): string | null {
  try {
    const id = new TextDecoder().decode(base64url.decode(userHandle ?? ""));
    return isToken(id) ? id : null;
  } catch {
    return null;
  }
}

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
  const used = await verifyKnown(deps, challenge, response, credential?.value ?? null);
  if (credential === null) throw passkeyRefused();
  const sub = credential.value.account;
  if (hint !== null && hint !== sub) throw passkeyRefused();
  const account = hint === null ? await readAccount(deps, realm, sub) : hinted;
  const usable = account === null ? null : await activated(deps, realm, account);
  if (usable === null || !usable.credentials.includes(credential.value.id)) throw passkeyRefused();
  // The caller has proven that they have the passkey, so the error may reveal the state of the account.
  if (usable.status !== "active") throw disabled();
  const { id } = credential.value;
  if (challenge.email !== null && challenge.email.toLowerCase() !== usable.email?.toLowerCase()) {
    throw new AppError(
      "unauthenticated",
      "email_mismatch",
      "The passkey belongs to an account with another email or without one. Use the passkey of that account, or begin without email.",
    );
  }

  return enter(deps, realm, usable, {
    credential: id,
    lists: ({ credentials }) => credentials.includes(id),
    refused: passkeyRefused,
    remember: () => rememberUse(deps, realm, credential, used),
  });
}

/** The passkey, or the identity at a provider, with which a user signs in to an account. */
export interface Entrance {
  /** Stored as `credential` in the session record. */
  credential: string;
  /** Returns whether the account still lists this passkey or identity. */
  lists: (account: AccountRecord) => boolean;
  /** Returns the error to throw if the account no longer lists this passkey or identity. */
  refused: () => AppError;
  /** Stores the time at which the passkey was used. */
  remember?: () => Promise<void>;
  /** Value of `detail` in the audit record. */
  detail?: string;
}

/** Starts a session for a user whose passkey or identity has been verified. */
export async function enter(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
  { credential, lists, refused, remember, detail }: Entrance,
): Promise<Completed> {
  if (account.status !== "active") throw disabled();
  const sub = account.id;
  await finishRecoveries(deps, realm, account);
  const [session] = await Promise.all([
    startSession(deps, sessionFor(realm, account, credential)),
    remember?.(),
  ]);
  // Read the account again. A concurrent request may have disabled it and ended its sessions before this session was
  // stored.
  const [now] = await Promise.all([
    readAccount(deps, realm, sub),
    audit(deps, { realm: realm.name, action: "signin", actor: { sub }, target: sub, detail }),
  ]);
  if (now === null || now.value.status !== "active" || now.value.role !== account.role) {
    await endSession(deps, realm.name, sub, session.sid);
    throw disabled();
  }
  if (!lists(now.value)) {
    await endSession(deps, realm.name, sub, session.sid);
    throw refused();
  }
  return { session, account: now.value };
}

function disabled(): AppError {
  return new AppError(
    "forbidden",
    "account_disabled",
    "This account is disabled. Ask an admin to enable it.",
  );
}

/**
 * Activates an account if its registration was interrupted right before the last write.
 * @returns null if the registration is not valid
 */
export async function activated(
  deps: Deps,
  realm: Realm,
  account: Versioned<AccountRecord>,
): Promise<AccountRecord | null> {
  if (account.value.status !== "pending") return account.value;
  if (!(await isEffective(deps, realm, account.value))) return null;
  const active: AccountRecord = { ...account.value, status: "active" };
  const made = await nullOnConflict(replaceRecord(deps, realm.buckets.accounts, account, active));
  return (made ?? (await readAccount(deps, realm, account.value.id)))?.value ?? null;
}

/**
 * Stores the passkey's new signature counter, unless a concurrent sign-in has stored a higher one. Some authenticators
 * always send 0.
 */
async function rememberUse(
  deps: Deps,
  realm: Realm,
  credential: Versioned<CredentialRecord>,
  used: { counter: number; backedUp: boolean },
): Promise<void> {
  let known = credential;
  await untilWritten(async () => {
    const lastUsedAt = new Date(deps.clock.now()).toISOString();
    const write = replaceRecord(deps, realm.buckets.credentials, known, {
      ...known.value,
      ...used,
      lastUsedAt,
    });
    if ((await nullOnConflict(write)) !== null || used.counter === 0) return;
    const fresh = await readCredential(deps, realm, credential.value.id);
    if (fresh === null || fresh.value.counter >= used.counter) throw passkeyRefused();
    known = fresh;
    throw new Conflict();
  });
}
