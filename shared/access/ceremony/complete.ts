/** The second half of every passkey ceremony: exchanges a signed response for a session. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Deps } from "../../deps.ts";
import { audit } from "../audit.ts";
import { enforceRateLimit } from "../limits.ts";
import type { Realm } from "../realms.ts";
import type { Completed } from "../sessions.ts";
import { add } from "./add.ts";
import { type Challenge, consumeChallenge, openChallenge } from "./challenges.ts";
import { login } from "./login.ts";
import { register } from "./register.ts";
import { passkeyRefused } from "./verify.ts";

export interface CompleteInput {
  realm: Realm;
  sessionId: string;
  response: RegistrationResponseJSON | AuthenticationResponseJSON;
}

/** Whether the response contains a new passkey; otherwise it uses an existing one. */
export function isRegistration(
  response: RegistrationResponseJSON | AuthenticationResponseJSON,
): response is RegistrationResponseJSON {
  return "attestationObject" in response.response;
}

/**
 * Completes a ceremony. Consumes the challenge, whatever the result.
 * A sign-in takes three round trips. The challenge is consumed while passkey and account are read. The session is
 * written in parallel with the passkey's counter. The account is read again (a concurrent removal must win) in parallel
 * with the audit.
 * @throws AppError not_found, gone (session id, invitation), unauthenticated (`passkey_refused`), forbidden
 *   (`account_disabled`), conflict (`passkey_known`), too_many
 */
export async function complete(deps: Deps, input: CompleteInput): Promise<Completed> {
  const { realm, response } = input;
  const challenge = await openChallenge(deps, realm.name, input.sessionId);
  const admitted = admit(deps, challenge);
  // The promise is awaited later. Without this handler an early rejection would be unhandled.
  admitted.catch(() => undefined);
  try {
    if (challenge.purpose === "login") {
      if (isRegistration(response)) throw await refusedAfter(admitted);
      return await login(deps, realm, challenge, response, admitted);
    }
    if (!isRegistration(response)) throw await refusedAfter(admitted);
    return challenge.purpose === "register"
      ? await register(deps, realm, challenge, response, admitted)
      : await add(deps, realm, challenge, response, admitted);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "error";
    if (REFUSALS.has(code)) {
      await audit(deps, {
        realm: realm.name,
        action: challenge.purpose === "login" ? "signin" : "register",
        actor: { sub: challenge.account ?? "anonymous" },
        outcome: "refused",
        detail: code,
      });
    }
    throw error;
  }
}

/**
 * Counts the attempt and consumes the challenge in parallel. A request beyond the rate limit only gets that error:
 * errors about a challenge are audited, so a used challenge could flood the audit log.
 */
async function admit(deps: Deps, challenge: Challenge): Promise<void> {
  const consumed = consumeChallenge(deps, challenge);
  consumed.catch(() => undefined);
  await enforceRateLimit(deps, "complete");
  await consumed;
}

const REFUSALS: ReadonlySet<string> = new Set([
  "passkey_refused",
  "passkey_known",
  "account_disabled",
  "session_used",
  "invitation_not_found",
  "invitation_used",
  "invitation_expired",
  "invitation_revoked",
]);

/** The response is of the wrong kind. The challenge is consumed nevertheless. */
async function refusedAfter(admitted: Promise<unknown>): Promise<Error> {
  await admitted;
  return passkeyRefused();
}
