/** Verifies the browser's WebAuthn response and starts a session. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { audit } from "../audit.ts";
import { enforceRateLimit } from "../limits.ts";
import type { Realm } from "../realms.ts";
import type { Completed } from "../sessions.ts";
import { add } from "./add.ts";
import { type Challenge, consumeChallenge, openChallenge } from "./challenges.ts";
import { login } from "./login.ts";
import { recover } from "./recover.ts";
import { register } from "./register.ts";
import { signUp } from "./signup.ts";
import { passkeyRefused } from "./verify.ts";

/** Functions that complete each kind of challenge that creates a passkey. */
const CREATING = { register, signup: signUp, add, recover } as const;

export interface CompleteInput {
  realm: Realm;
  sessionId: string;
  response: RegistrationResponseJSON | AuthenticationResponseJSON;
}

export function isRegistration(
  response: RegistrationResponseJSON | AuthenticationResponseJSON,
): response is RegistrationResponseJSON {
  return "attestationObject" in response.response;
}

/** Completes a sign-in, a registration, or the adding of a passkey. Even a rejected response uses up the challenge. */
export async function complete(deps: Deps, input: CompleteInput): Promise<Completed> {
  const { realm, response } = input;
  const challenge = await openChallenge(deps, realm.name, input.sessionId);
  const admitted = admit(deps, challenge);
  // The code below awaits this promise later. If the promise is rejected before that, Node.js would report an unhandled
  // rejection without this line.
  admitted.catch(() => undefined);
  try {
    if (challenge.purpose === "login") {
      if (isRegistration(response)) throw await refusedAfter(admitted);
      return await login(deps, realm, challenge, response, admitted);
    }
    if (!isRegistration(response)) throw await refusedAfter(admitted);
    return await CREATING[challenge.purpose](deps, realm, challenge, response, admitted);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "error";
    if (REFUSALS.has(code)) {
      await audit(deps, {
        realm: realm.name,
        action: ACTIONS[challenge.purpose],
        actor: { sub: challenge.account ?? "anonymous" },
        outcome: "refused",
        detail: code,
      });
    }
    throw error;
  }
}

/**
 * Checks the rate limit and marks the challenge as used. If both fail, throws the error of the rate limit. The other
 * error would be written to the audit log, which an attacker could flood.
 */
async function admit(deps: Deps, challenge: Challenge): Promise<void> {
  const consumed = consumeChallenge(deps, challenge);
  consumed.catch(() => undefined);
  await enforceRateLimit(deps, "complete");
  await consumed;
}

/** For each purpose of a challenge, the action that the audit log records when the response is refused. */
const ACTIONS = {
  login: "signin",
  register: "register",
  signup: "register",
  add: "register",
  recover: "recovery",
} as const;

const REFUSALS: ReadonlySet<string> = new Set([
  "passkey_refused",
  "passkey_known",
  "account_disabled",
  "email_mismatch",
  "session_used",
  "invitation_not_found",
  "invitation_used",
  "invitation_expired",
  "invitation_revoked",
  "signup_closed",
  "recovery_code_refused",
]);

/**
 * Returns the error for a response of the wrong kind, such as a registration for a sign-in. First waits until the
 * challenge is marked as used, because each challenge works only once.
 */
async function refusedAfter(admitted: Promise<unknown>): Promise<Error> {
  await admitted;
  return passkeyRefused();
}
