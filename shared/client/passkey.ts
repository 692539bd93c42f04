/** Registers and signs in with a passkey. Works only in browsers. */
import type { CallOptions, Transport } from "./transport.ts";

export interface SignInOptions extends CallOptions {
  /** Accounts to use: `platform`, an orb's id, or `auth` for the accounts that orbs share. Default: `auth`. */
  realm?: string;
}

export interface RegisterOptions extends SignInOptions {
  /** Code of the invitation. Omit it if users can sign up without an invitation. */
  invite?: string;
  /** Name for the new account. */
  name?: string;
}

/** The parts of the browser's WebAuthn API that the client uses. */
interface Browser {
  navigator: {
    credentials: {
      create(options: object): Promise<{ toJSON(): unknown } | null>;
      get(options: object): Promise<{ toJSON(): unknown } | null>;
    };
  };
  PublicKeyCredential?: {
    parseCreationOptionsFromJSON(options: object): unknown;
    parseRequestOptionsFromJSON(options: object): unknown;
  };
}

interface Begun {
  sessionId: string;
  publicKey?: object;
  options?: { publicKey: object };
}

function baseOf(realm: string): string {
  return realm === "platform" ? "/api/_auth" : `/api/${encodeURIComponent(realm)}`;
}

/**
 * Signs in or registers with a passkey, and returns the token of the new session. The browser also receives the session
 * cookie.
 * @throws Problem if the platform refuses; DOMException `NotAllowedError` if the user cancels
 */
export async function ceremony(
  transport: Transport,
  purpose: "signIn" | "register",
  { realm = "auth", invite, name, signal }: RegisterOptions,
): Promise<string> {
  const { navigator, PublicKeyCredential } = globalThis as unknown as Browser;
  if (PublicKeyCredential === undefined)
    throw new TypeError("Passkeys need a browser and a page over HTTPS.");
  const base = baseOf(realm);
  const registers = purpose === "register";
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const request = {
      method: "POST",
      path: `${base}${path}`,
      body,
      headers,
      signal,
      repeat: "refused",
    } as const;
    const query = registers && invite === undefined && path.endsWith("begin") ? { signup: "true" } : {};
    const response = await transport.send({ ...request, query: new URLSearchParams(query) });
    return (await response.json()) as unknown;
  };
  const begun = (await post("/passkey/begin", registers ? { invite, name } : {})) as Begun;
  const given = begun.publicKey ?? begun.options?.publicKey ?? {};
  const credential = registers
    ? await navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(given),
        signal,
      })
    : await navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(given),
        signal,
      });
  if (credential === null) throw new TypeError("The browser returned no passkey.");
  const result = credential.toJSON();
  const member = registers ? "credential" : "assertion";
  const completed =
    realm === "platform"
      ? await post("/passkey/complete", { sessionId: begun.sessionId, [member]: result })
      : await post("/passkey/complete", result, { sessionid: begun.sessionId });
  return (completed as { token: string }).token;
}
