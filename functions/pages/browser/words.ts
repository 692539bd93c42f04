/** What went wrong, in plain words. */
import { WebAuthnError } from "@simplewebauthn/browser";

/** A refusal by the server, known by its stable code. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

const SERVER: Record<string, string> = {
  invitation_not_found: "This invitation is not known. Check that the whole address was copied.",
  invitation_used: "This invitation was used already. Ask for a new one, or sign in with your passkey.",
  invitation_expired: "This invitation has expired. Ask for a new one.",
  invitation_revoked: "This invitation was withdrawn. Ask for a new one.",
  session_expired: "That took too long. Please try again.",
  session_used: "That was tried before. Please try again.",
  session_not_found: "That took too long. Please try again.",
  passkey_refused: "This passkey was not accepted. It may be for another place, or its account was removed.",
  passkey_known: "This passkey is registered already. Sign in with it.",
  account_disabled: "This account may not sign in any more. Ask whoever invited you.",
  too_many_requests: "Too many attempts. Please wait a minute and try again.",
  too_many_passkeys: "This account has as many passkeys as it can have.",
  origin_not_allowed: "Sign-in is not possible from this address.",
  invalid_token: "You were signed out meanwhile. Please sign in again.",
  authentication_required: "You were signed out meanwhile. Please sign in again.",
  validation_failed: "This name cannot be used. Please choose a shorter one, without special signs.",
  network: "The server cannot be reached. Check your connection and try again.",
};

const DEVICE: Record<string, string> = {
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: "This device has a passkey for this account already.",
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT:
    "This device cannot keep passkeys. Try another device, or a phone.",
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT:
    "This device cannot make sure that it is you. Set up a screen lock, fingerprint or PIN, and try again.",
  ERROR_AUTHENTICATOR_NO_SUPPORTED_PUBKEYCREDPARAMS_ALG:
    "This device cannot make a passkey that works here. Try another device.",
  ERROR_INVALID_DOMAIN: "Passkeys do not work at this address: they need a name and a secure connection.",
  ERROR_INVALID_RP_ID: "Passkeys do not work at this address. Open the address that you were given.",
};

/** Whether nothing has to be said: another ceremony took over. */
export function isSuperseded(error: unknown): boolean {
  return (
    (error instanceof WebAuthnError && error.code === "ERROR_CEREMONY_ABORTED") ||
    (error instanceof Error && error.name === "AbortError")
  );
}

/** Words for a person, without jargon. */
export function wordsFor(error: unknown, doing: "register" | "login"): string {
  if (error instanceof Refused) return SERVER[error.code] ?? "Something went wrong. Please try again.";
  if (error instanceof WebAuthnError && DEVICE[error.code] !== undefined) return DEVICE[error.code] ?? "";
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError") {
    return doing === "register"
      ? "No passkey was created: it was cancelled, or took too long. You can try again."
      : "No passkey was used: it was cancelled, or there is none for this place on this device.";
  }
  if (name === "NotSupportedError") return "This device cannot make a passkey that works here.";
  if (name === "SecurityError") return DEVICE.ERROR_INVALID_RP_ID ?? "";
  return "Something went wrong. Please try again.";
}
