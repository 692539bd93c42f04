import { deviceWords } from "./device.ts";

/** Thrown if the platform refuses a request or cannot be reached. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

const UNKNOWN = "Something went wrong. Please try again.";

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
  recovery_code_refused:
    "This code was not accepted. Check that you typed it right. A code works once, and new codes replace old ones.",
  origin_not_allowed: "Sign-in is not possible from this address. Open the address that you were given.",
  invalid_token: "You were signed out. Please sign in again.",
  authentication_required: "You were signed out. Please sign in again.",
  validation_failed: "This name is not allowed. Please choose a shorter one without special characters.",
  network: "The server cannot be reached. Check your connection and try again.",
};

/** Returns an error message that users without technical knowledge understand. */
export function wordsFor(error: unknown, doing: "register" | "login"): string {
  if (error instanceof Refused) return SERVER[error.code] ?? UNKNOWN;
  return deviceWords(error, doing) ?? UNKNOWN;
}
