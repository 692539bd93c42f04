/** Error messages for passkeys that the browser or the device refuses. */
import { WebAuthnError } from "@simplewebauthn/browser";
import { Unsupported } from "./ceremony.ts";

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

/** Returns why a passkey could not be used or created; undefined for errors that are not about passkeys. */
export function deviceWords(error: unknown, doing: "register" | "login"): string | undefined {
  if (error instanceof Unsupported) return error.message;
  const known = error instanceof WebAuthnError ? DEVICE[error.code] : undefined;
  if (known !== undefined) return known;
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError") {
    return doing === "register"
      ? "No passkey was created, because it was cancelled or took too long. Please try again."
      : "No passkey was used. You cancelled, or this device has none for this site. Try again, or use another device.";
  }
  if (name === "NotSupportedError") return DEVICE.ERROR_AUTHENTICATOR_NO_SUPPORTED_PUBKEYCREDPARAMS_ALG;
  return name === "SecurityError" ? DEVICE.ERROR_INVALID_RP_ID : undefined;
}
