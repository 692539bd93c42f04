/** Requests about the signed-in account of a realm: a set of accounts. */
import { basePath } from "./caller.ts";
import { get, pathOf, post, put, remove, send, transport } from "./http.ts";

export interface OwnAccount {
  id: string;
  name: string;
  realm: {
    /** `platform`, `auth` (shared accounts), or the id of an application. */
    id: string;
    title: string;
    ways: readonly ("passkey" | "oauth")[];
    providers: readonly { id: string; name: string }[];
  };
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
  /** Number of codes that still work. */
  remaining: number;
  createdAt: string | null;
}

/**
 * Reads the signed-in account of a realm. Does not count as the end of a session if there is none: the user may be
 * signed in to another realm.
 */
export async function readOwnAccount(realm: string, signal: AbortSignal): Promise<OwnAccount> {
  const response = await transport.send({
    method: "GET",
    path: `${basePath(realm)}/me`,
    repeat: "safe",
    signal,
  });
  return (await response.json()) as OwnAccount;
}

/** Reads a list. Returns null if the response is not a list, because an older module of the application has this path. */
async function listAt<T>(path: string, signal?: AbortSignal): Promise<readonly T[] | null> {
  const found = await get<unknown>(path, { signal });
  return Array.isArray(found) ? (found as T[]) : null;
}

export const listPasskeys = (base: string, signal: AbortSignal) =>
  get<readonly Passkey[]>(`${base}/passkeys`, { signal });

export const renamePasskey = (base: string, id: string, name: string) =>
  put(`${base}/passkeys${pathOf(id)}`, { name });

export const removePasskey = (base: string, id: string) => remove(`${base}/passkeys${pathOf(id)}`);

export const listIdentities = (base: string, signal?: AbortSignal) =>
  listAt<Identity>(`${base}/identities`, signal);

/** Begins to link an identity. Returns the provider's URL to open next. @param back path to open afterwards */
export const linkIdentity = async (base: string, provider: string, back: string): Promise<string> =>
  (
    await post<{ url: string }>(`${base}/oauth${pathOf(provider)}/link`, undefined, {
      query: { return: back },
      once: false,
    })
  ).url;

export const unlinkIdentity = (base: string, id: string) => remove(`${base}/identities${pathOf(id)}`);

export const listSessions = (base: string, signal: AbortSignal) =>
  listAt<SessionEntry>(`${base}/sessions`, signal);

export const endSession = (base: string, id: string) => remove(`${base}/sessions${pathOf(id)}`);

export const endOtherSessions = (base: string) => remove(`${base}/sessions`);

/** Returns null if the response comes from an older module of the application that has this path. */
export async function countCodes(base: string, signal: AbortSignal): Promise<CodesState | null> {
  const found = await get<Partial<CodesState>>(`${base}/recovery-codes`, { signal });
  return found.remaining === undefined ? null : { createdAt: null, ...found, remaining: found.remaining };
}

export const makeCodes = async (base: string): Promise<readonly string[]> =>
  (await post<{ codes: string[] }>(`${base}/recovery-codes`, undefined, { once: false })).codes;

/** Sends the requests of passkey ceremonies. */
export async function sendCeremony(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await send("POST", path, body, { headers, once: false });
  return (await response.json()) as Record<string, unknown>;
}
