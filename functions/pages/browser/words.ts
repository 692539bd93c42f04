import { WebAuthnError } from "@simplewebauthn/browser";

export class Refused extends Error {
  readonly code: string;
  readonly status: number;
  /** @param status HTTP status; 0 if there was no response */
  constructor(code: string, status = 0) {
    super(code);
    this.code = code;
    this.status = status;
  }
}

/** For a removal: ignores a 404, because the object is already gone. Throws every other error again. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof Refused && error.status === 404)) throw error;
}

const SERVER: Record<string, string> = {
  invitation_not_found:
    "This link is not valid. Check that you copied the whole address, or ask for a new one.",
  invitation_used: "This link was already used. Ask for a new one, or sign in with your passkey.",
  invitation_expired: "This link has expired. Ask for a new one.",
  invitation_revoked: "This link was revoked. Ask for a new one.",
  session_expired: "That took too long. Please try again.",
  session_used: "This attempt was already used. Please try again.",
  session_not_found: "That took too long. Please try again.",
  passkey_refused:
    "This passkey was not accepted. It may belong to another site, or its account was deleted. Try another passkey.",
  passkey_known: "This passkey is already registered. Sign in with it.",
  account_disabled: "This account is disabled. Ask the person who invited you.",
  signup_closed: "Accounts are created by invitation here. Ask for one.",
  too_many_signups:
    "Too many accounts were created in a short time. Try again later, or ask for an invitation.",
  too_many_requests: "Too many attempts. Please wait a minute and try again.",
  too_many_passkeys: "This account has the maximum number of passkeys. Remove one first.",
  last_passkey: "This is your last way to sign in. Add another one first.",
  last_identity: "This is your last way to sign in. Add a passkey first.",
  provider_unavailable: "The provider is not responding. Please try again later.",
  unsupported:
    "This browser does not support passkeys, or not at this address. Use a current browser, and open the address that you were given.",
  recovery_code_refused:
    "This code was not accepted. Check that you typed it right. A code works once, and new codes replace old ones.",
  too_many_tokens: "You have the maximum number of tokens. Delete one first.",
  origin_not_allowed: "Sign-in is not possible from this address. Open the address that you were given.",
  invalid_token: "You were signed out. Please sign in again.",
  authentication_required: "You were signed out. Please sign in again.",
  validation_failed: "This name is not allowed. Please choose a shorter one without special characters.",
  network: "The server cannot be reached. Check your connection and try again.",
};

const DEVICE: Record<string, string> = {
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED:
    "This device already has a passkey for this account. Sign in with it.",
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT:
    "This device cannot store passkeys. Try another device, or a phone.",
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT:
    "This device cannot verify that it is you. Set up a screen lock, fingerprint or PIN, and try again.",
  ERROR_AUTHENTICATOR_NO_SUPPORTED_PUBKEYCREDPARAMS_ALG:
    "This device does not support the passkeys of this site. Try another device.",
  ERROR_INVALID_DOMAIN: "Passkeys do not work at this address. Open the address with a host name and https.",
  ERROR_INVALID_RP_ID: "Passkeys do not work at this address. Open the address that you were given.",
};

/** Returns an error message that users without technical knowledge understand. */
export function wordsFor(error: unknown, doing: "register" | "login"): string {
  if (error instanceof Refused) return SERVER[error.code] ?? "Something went wrong. Please try again.";
  if (error instanceof WebAuthnError && DEVICE[error.code] !== undefined) return DEVICE[error.code] ?? "";
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError") {
    return doing === "register"
      ? "No passkey was created, because it was cancelled or took too long. Please try again."
      : "No passkey was used. You cancelled, or this device has none for this site. Try again, or use another device.";
  }
  if (name === "NotSupportedError")
    return "This device does not support the passkeys of this site. Try another device.";
  if (name === "SecurityError") return DEVICE.ERROR_INVALID_RP_ID ?? "";
  return "Something went wrong. Please try again.";
}
