/** The passkey ceremonies, for the sign-in page and for the console. */
import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  startAuthentication,
  startRegistration,
} from "@simplewebauthn/browser";
import { text } from "./texts.ts";

export interface Session {
  token: string;
  name: string;
}

/** Sends a POST request, and returns the body of the response. Throws if the platform responds with an error. */
type Send = (
  path: string,
  body: unknown,
  headers?: Record<string, string>,
) => Promise<Record<string, unknown>>;

/** Thrown if the browser has no passkeys, or none at this address. */
export class Unsupported extends Error {
  constructor() {
    super(text("passkey.unsupported"));
  }
}

export function requirePasskeys(): void {
  if (!browserSupportsWebAuthn()) throw new Unsupported();
}

/** The account that a new passkey belongs to. */
export type NewPasskey =
  | { invite: string; name?: string }
  | { invite: string; removePasskeys: boolean }
  | { recoveryCode: string; removePasskeys: boolean }
  | { signup: { name?: string } }
  | { add: true };

/** Returns the ceremonies of a realm (set of accounts). Each begins a session. @param base such as `/api/shop` */
export function ceremonies(base: string, send: Send) {
  const platform = base === "/api/_auth";
  async function begin<T>(body: object, query = ""): Promise<{ sessionId: string; optionsJSON: T }> {
    const answer = await send(`${base}/passkey/begin${query}`, body);
    const { publicKey } = (platform ? answer.options : answer) as { publicKey: T };
    return { sessionId: String(answer.sessionId), optionsJSON: publicKey };
  }
  async function complete(
    sessionId: string,
    response: RegistrationResponseJSON | AuthenticationResponseJSON,
  ): Promise<Session> {
    const part = "attestationObject" in response.response ? "credential" : "assertion";
    const answer = platform
      ? await send(`${base}/passkey/complete`, { sessionId, [part]: response })
      : await send(`${base}/passkey/complete`, response, { SessionID: sessionId });
    const token = String(answer.token);
    return { token, name: nameIn(token) };
  }
  return {
    /** Asks for a passkey of any account. */
    async signIn(): Promise<Session> {
      requirePasskeys();
      const { sessionId, optionsJSON } = await begin<PublicKeyCredentialRequestOptionsJSON>({});
      return complete(sessionId, await startAuthentication({ optionsJSON }));
    },
    /** Creates a passkey. */
    async register(wish: NewPasskey): Promise<Session> {
      requirePasskeys();
      const { sessionId, optionsJSON } = await ("signup" in wish
        ? begin<PublicKeyCredentialCreationOptionsJSON>(wish.signup, "?signup=true")
        : begin<PublicKeyCredentialCreationOptionsJSON>(wish));
      return complete(sessionId, await startRegistration({ optionsJSON }));
    },
  };
}

/** Reads the user's name from a token for display. Only the server verifies tokens. */
function nameIn(token: string): string {
  const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
  return String((JSON.parse(new TextDecoder().decode(bytes)) as { name?: unknown }).name ?? "");
}
