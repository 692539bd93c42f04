import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/browser";
import { Refused } from "./words.ts";

export interface Ceremony<T> {
  sessionId: string;
  publicKey: T;
}

export interface Session {
  token: string;
  name: string;
}

export interface Passkey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}

type Json = Record<string, unknown>;

async function send(
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  method = "POST",
): Promise<Json> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused("network");
  }
  const answer = (await response.json().catch(() => ({}))) as Json;
  if (!response.ok) throw new Refused(typeof answer.code === "string" ? answer.code : "unknown");
  return answer;
}

export function realmApi(base: string) {
  const platform = base === "/api/_auth";
  async function begin<T>(body: Json): Promise<Ceremony<T>> {
    const answer = await send(`${base}/passkey/begin`, body);
    const options = (platform ? (answer.options as Json).publicKey : answer.publicKey) as T;
    return { sessionId: String(answer.sessionId), publicKey: options };
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
    beginLogin: () => begin<PublicKeyCredentialRequestOptionsJSON>({}),
    beginRegistration: (body: { invite: string; name?: string } | { add: true }) =>
      begin<PublicKeyCredentialCreationOptionsJSON>(body),
    complete,
    signOut: () => send(`${base}/signout`),
    listPasskeys: async () => (await send(`${base}/passkeys`, undefined, {}, "GET")) as unknown as Passkey[],
    renamePasskey: (id: string, name: string) => send(`${base}/passkeys/${id}`, { name }, {}, "PUT"),
    removePasskey: (id: string) => send(`${base}/passkeys/${id}`, undefined, {}, "DELETE"),
  };
}

/** Reads the user's name from a token for display. Only the server verifies tokens. */
function nameIn(token: string): string {
  const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
  return String((JSON.parse(new TextDecoder().decode(bytes)) as { name?: unknown }).name ?? "");
}
