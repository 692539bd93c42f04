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

export interface Identity {
  id: string;
  /** Null if the application no longer offers the provider. The user can then not sign in with this identity. */
  provider: string | null;
  issuer: string;
  label: string | null;
  createdAt: string;
}

export interface SessionEntry {
  id: string;
  createdAt: string;
  browser: string | null;
  system: string | null;
  network: string | null;
  current: boolean;
}

export interface CodesState {
  /** Undefined if the response comes from a module of the application that uses the same path as this API. */
  remaining?: number;
  createdAt: string | null;
}

export type Can = "read" | "write" | "publish" | "manage";

export interface TokenWish {
  name: string;
  /** ISO 8601 time, or `never`. */
  expiresAt: string;
  scopes: { orb: string; can: Can[] }[];
}

export interface ApiToken extends TokenWish {
  id: string;
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
  if (!response.ok)
    throw new Refused(typeof answer.code === "string" ? answer.code : "unknown", response.status);
  return answer;
}

export type RealmApi = ReturnType<typeof realmApi>;

const get = (path: string) => send(path, undefined, {}, "GET") as Promise<unknown>;
/** Fetches a list. Returns null if the response is not a list, because a module of the application has this path. */
async function listAt<T>(path: string): Promise<T[] | null> {
  const answer = await get(path);
  return Array.isArray(answer) ? (answer as T[]) : null;
}

const remove = (path: string) => send(path, undefined, {}, "DELETE");

export function realmApi(base: string) {
  const platform = base === "/api/_auth";
  async function begin<T>(body: Json, query = ""): Promise<Ceremony<T>> {
    const answer = await send(`${base}/passkey/begin${query}`, body);
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
    /** Id of the application that owns the accounts. Not valid for platform accounts and shared accounts. */
    orb: base.slice("/api/".length),
    beginLogin: () => begin<PublicKeyCredentialRequestOptionsJSON>({}),
    beginRegistration: (
      body:
        | { invite: string; name?: string }
        | { invite: string; removePasskeys: boolean }
        | { recoveryCode: string; removePasskeys: boolean }
        | { add: true },
    ) => begin<PublicKeyCredentialCreationOptionsJSON>(body),
    beginSignup: (body: { name?: string }) =>
      begin<PublicKeyCredentialCreationOptionsJSON>(body, "?signup=true"),
    complete,
    signOut: () => send(`${base}/signout`),
    listPasskeys: async () => (await get(`${base}/passkeys`)) as Passkey[],
    renamePasskey: (id: string, name: string) => send(`${base}/passkeys/${id}`, { name }, {}, "PUT"),
    removePasskey: (id: string) => remove(`${base}/passkeys/${id}`),
    listIdentities: () => listAt<Identity>(`${base}/identities`),
    /** Returns the provider's URL to open next. */
    linkIdentity: async (provider: string) =>
      String(
        (await send(`${base}/oauth/${provider}/link?return=${encodeURIComponent(`${base}/signin`)}`)).url,
      ),
    unlinkIdentity: (id: string) => remove(`${base}/identities/${id}`),
    listSessions: () => listAt<SessionEntry>(`${base}/sessions`),
    endSession: (id: string) => remove(`${base}/sessions/${id}`),
    endOtherSessions: () => remove(`${base}/sessions`),
    countCodes: async () => (await get(`${base}/recovery-codes`)) as CodesState,
    makeCodes: async () => (await send(`${base}/recovery-codes`)).codes as string[],
    listTokens: () => listAt<ApiToken>(`${base}/tokens`),
    createToken: async (wish: TokenWish) => String((await send(`${base}/tokens`, wish)).token),
    /** @param request query parameters of the page's URL */
    allowProgram: async ({ days, ...request }: Record<string, string>) =>
      (await send(`${base}/signin/program`, { ...request, days: Number(days) })) as {
        code: string;
        url: string | null;
      },
    deleteToken: (id: string) => remove(`${base}/tokens/${id}`),
  };
}

/** Reads the user's name from a token for display. Only the server verifies tokens. */
function nameIn(token: string): string {
  const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
  return String((JSON.parse(new TextDecoder().decode(bytes)) as { name?: unknown }).name ?? "");
}
