/** Creates the WebAuthn options for signing in, registering, and adding a passkey. */
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server";
import { z } from "zod";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { type AccountRecord, readAccount, readCredential, refuseService } from "../accounts.ts";
import { type Actor, anonymous, credentialOf } from "../actor.ts";
import { audit } from "../audit.ts";

import { requireOwn } from "../authorize.ts";
import { findInvitation } from "../invitations.ts";
import { countSignup, enforceRateLimit } from "../limits.ts";
import { generatedName, newAccountId, type Realm, relyingParty } from "../realms.ts";
import { findByCode, requireOpen } from "../recovery/index.ts";
import { refusal } from "../refusals.ts";
import { requireOpenSignup } from "../settings.ts";
import { CHALLENGE_SECONDS, type Challenge, sealChallenge } from "./challenges.ts";

/** EdDSA, ES256 and RS256: every authenticator supports one of them. */
export const ALGORITHMS = [-8, -7, -257];
export const PASSKEY_LIMIT = 20;

/** Throws 409 if the account has the maximum number of passkeys, or is a service account, which can have none. */
export function requireRoom({ credentials, service }: Pick<AccountRecord, "credentials" | "service">): void {
  refuseService({ service });
  if (credentials.length < PASSKEY_LIMIT) return;
  const detail = `An account has at most ${PASSKEY_LIMIT} passkeys. Remove one first.`;
  throw new AppError("conflict", "too_many_passkeys", detail);
}

/** WebAuthn options for the browser. The browser must send the session id back with its response. */
export interface CeremonyStart {
  sessionId: string;
  publicKey: PublicKeyCredentialCreationOptionsJSON | PublicKeyCredentialRequestOptionsJSON;
  isRegistration: boolean;
}

type Described = Pick<AccountRecord, "id" | "name" | "email" | "credentials">;

export interface BeginInput {
  realm: Realm;
  invite?: string | undefined;
  /** True if the caller wants to register without an invitation. */
  signup?: boolean | undefined;
  /** Name of the new account; generated if missing. */
  name?: string | undefined;
  /** Email of the new account. For a sign-in, the email that the account must have. */
  email?: string | undefined;
  recoveryCode?: string | undefined;
  /** For a recovery: whether to remove the account's other passkeys. */
  removePasskeys?: boolean | undefined;
}

/**
 * Begins a ceremony. With an invitation or `signup`, the ceremony is a registration. With a recovery link or a recovery
 * code, it is a recovery. Otherwise it is a sign-in without a username.
 */
export function begin(deps: Deps, input: BeginInput): Promise<CeremonyStart> {
  if (input.email !== undefined && !z.email().safeParse(input.email).success) {
    throw invalid([{ path: "/email", code: "invalid_format", message: "must be an email address" }]);
  }
  refuseSeveral(input);
  if (input.recoveryCode !== undefined) return beginByCode(deps, input, input.recoveryCode);
  if (input.signup === true) return beginSignup(deps, input);
  return input.invite === undefined ? beginLogin(deps, input) : beginRegistration(deps, input, input.invite);
}

/** Rejects a name or an email if the request does not create an account. */
function refuseAccount(given: Pick<BeginInput, "name" | "email">): void {
  const message = "belongs to a registration. Send it with an invitation or with signup=true.";
  refuse(given, { path: "", code: "not_a_registration", message });
}

/** Rejects `removePasskeys` if the request is not a recovery. */
function refuseRecovery({ removePasskeys }: BeginInput): void {
  const message = "belongs to a recovery. Send it with a recovery link or a recovery code.";
  refuse({ removePasskeys }, { path: "", code: "not_a_recovery", message });
}

function refuse(given: object, fault: Fault): void {
  const faults = Object.entries(given).flatMap(([name, value]): Fault[] =>
    value === undefined ? [] : [{ ...fault, path: `/${name}` }],
  );
  if (faults.length > 0) throw invalid(faults);
}

/** Rejects a request that contains more than one of `invite`, `signup` and `recoveryCode`. */
function refuseSeveral({ invite, signup, recoveryCode }: BeginInput): void {
  const given = Object.entries({ invite, recoveryCode, signup: signup === true ? signup : undefined });
  const [, second] = given.filter(([, value]) => value !== undefined);
  if (second === undefined) return;
  const message = "must not be sent together with another reason to create a passkey. Send one of them.";
  throw invalid([{ path: `/${second[0]}`, code: "exclusive", message }]);
}

async function beginLogin(deps: Deps, input: BeginInput): Promise<CeremonyStart> {
  const { realm, name, email } = input;
  refuseAccount({ name });
  refuseRecovery(input);
  await enforceRateLimit(deps, "begin");
  const publicKey = await generateAuthenticationOptions({
    rpID: relyingParty(deps.config).id,
    userVerification: "required",
    timeout: CHALLENGE_SECONDS * 1000,
  });
  const sessionId = await sealChallenge(deps, {
    realm: realm.name,
    purpose: "login",
    challenge: publicKey.challenge,
    invitation: null,
    account: null,
    session: null,
    name: null,
    email: email ?? null,
  });
  return { sessionId, publicKey, isRegistration: false };
}

async function beginRegistration(deps: Deps, input: BeginInput, invite: string): Promise<CeremonyStart> {
  const { realm } = input;
  const [found] = await Promise.all([findInvitation(deps, realm, invite), enforceRateLimit(deps, "begin")]);
  let open: Awaited<ReturnType<typeof requireOpen>>;
  try {
    open = await requireOpen(deps, realm, found);
  } catch (error) {
    if (error instanceof AppError && (error.kind === "gone" || error.kind === "not_found")) {
      await audit(deps, {
        realm: realm.name,
        action: "register",
        actor: anonymous,
        outcome: "refused",
        detail: error.code,
      });
    }
    throw error;
  }
  const { key, value } = open.invitation;
  const invitation = { key, hash: value.hash };
  if (open.account !== null)
    return beginRecovery(deps, input, open.account.value, { invitation, codes: null });
  refuseRecovery(input);
  return registration(deps, realm, newAccount(deps, input), {
    purpose: "register",
    invitation,
    session: null,
  });
}

function newAccount(deps: Deps, { name, email }: BeginInput): Described {
  const id = newAccountId(deps.randomToken);
  return { id, name: name ?? generatedName(id), email: email ?? null, credentials: [] };
}

async function beginByCode(deps: Deps, input: BeginInput, code: string): Promise<CeremonyStart> {
  const [{ account, set }] = await Promise.all([
    findByCode(deps, input.realm, code),
    enforceRateLimit(deps, "begin"),
  ]);
  return beginRecovery(deps, input, account.value, { invitation: null, codes: set });
}

function beginRecovery(
  deps: Deps,
  { realm, name, email, removePasskeys: removes = false }: BeginInput,
  account: AccountRecord,
  by: Pick<Challenge, "invitation" | "codes">,
): Promise<CeremonyStart> {
  refuseAccount({ name, email });
  if (!removes) requireRoom(account);
  // If the old passkeys are about to be removed, do not exclude them here. Otherwise the browser could not create a
  // passkey on a device that already stores one of them.
  const known = removes ? { ...account, credentials: [] } : account;
  return registration(deps, realm, known, { purpose: "recover", ...by, session: null, removes });
}

async function beginSignup(deps: Deps, input: BeginInput): Promise<CeremonyStart> {
  const { realm } = input;
  refuseRecovery(input);
  await Promise.all([requireOpenSignup(deps, realm), enforceRateLimit(deps, "begin")]);
  await countSignup(deps, realm.name);
  const bound = { purpose: "signup", invitation: null, session: null } as const;
  return registration(deps, realm, newAccount(deps, input), bound);
}

export async function beginAdding(deps: Deps, actor: Actor, input: BeginInput): Promise<CeremonyStart> {
  const { realm, name, email } = input;
  requireOwn(actor, realm.name, "passkeys.write");
  refuseAccount({ name, email });
  refuseRecovery(input);
  const [account] = await Promise.all([readAccount(deps, realm, actor.sub), enforceRateLimit(deps, "begin")]);
  if (account === null) throw refusal(actor);
  requireRoom(account.value);
  return registration(deps, realm, account.value, {
    purpose: "add",
    invitation: null,
    session: credentialOf(actor),
  });
}

async function registration(
  deps: Deps,
  realm: Realm,
  account: Described,
  bound: Pick<Challenge, "purpose" | "invitation" | "session" | "codes" | "removes">,
): Promise<CeremonyStart> {
  const known = await Promise.all(account.credentials.map((id) => readCredential(deps, realm, id)));
  const publicKey = await generateRegistrationOptions({
    rpName: realm.title,
    rpID: relyingParty(deps.config).id,
    userID: new TextEncoder().encode(account.id),
    // Several applications share one host name, so the user name tells people which application a passkey belongs to.
    userName: `${account.email ?? account.name} (${realm.title})`,
    userDisplayName: account.name,
    timeout: CHALLENGE_SECONDS * 1000,
    attestationType: "none",
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.flatMap((credential) =>
      credential === null ? [] : [{ id: credential.value.id, transports: credential.value.transports }],
    ),
    // Pass a new object each time, because the library modifies it.
    authenticatorSelection: {
      residentKey: "required",
      requireResidentKey: true,
      userVerification: "required",
    },
  });
  const sessionId = await sealChallenge(deps, {
    realm: realm.name,
    ...bound,
    challenge: publicKey.challenge,
    account: account.id,
    name: account.name,
    email: account.email,
  });
  return { sessionId, publicKey, isRegistration: true };
}
