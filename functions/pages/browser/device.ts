/** Error messages for passkeys that the browser or the device refuses. */
import { WebAuthnError } from "@simplewebauthn/browser";
import { Unsupported } from "./ceremony.ts";
import { type ScriptKey, text } from "./texts.ts";

/** Keys of the texts for the errors of the package @simplewebauthn/browser. */
const DEVICE: Readonly<Record<string, ScriptKey>> = {
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: "passkey.known",
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT: "passkey.store",
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT: "passkey.verify",
  ERROR_AUTHENTICATOR_NO_SUPPORTED_PUBKEYCREDPARAMS_ALG: "passkey.kind",
  ERROR_INVALID_DOMAIN: "passkey.host",
  ERROR_INVALID_RP_ID: "passkey.address",
};

/** Returns why a passkey could not be used or created; undefined for errors that are not about passkeys. */
export function deviceWords(error: unknown, doing: "register" | "login"): string | undefined {
  if (error instanceof Unsupported) return error.message;
  const known = error instanceof WebAuthnError ? DEVICE[error.code] : undefined;
  if (known !== undefined) return text(known);
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError")
    return text(doing === "register" ? "passkey.cancelledRegister" : "passkey.cancelledLogin");
  if (name === "NotSupportedError") return text("passkey.kind");
  return name === "SecurityError" ? text("passkey.address") : undefined;
}
