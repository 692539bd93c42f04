import { calculatePKCECodeChallenge } from "oauth4webapi";
import type { Deps } from "../../deps.ts";
import type { Actor } from "../actor.ts";
import { requireOwn } from "../authorize.ts";
import { enforceRateLimit } from "../limits.ts";
import type { Realm } from "../realms.ts";
import { discovered, findProvider } from "./provider.ts";
import { sealState } from "./state.ts";

export interface BeginOAuth {
  realm: Realm;
  /** Id of the provider in the application's document. */
  provider: string;
  /** Code of the invitation with which to create the account, if the user has none yet. */
  invite?: string | undefined;
  /** URL to open after the sign-in. The caller has checked that the URL is trusted. */
  back: string;
}

export interface OAuthStart {
  /** URL at the provider to which the browser must go. */
  url: string;
  /** Value of the cookie to set. The browser must send this cookie to the callback URL. */
  cookie: string;
}

const DEFAULT_SCOPES = ["profile", "email"];

/** Returns the callback URL, to which the provider redirects the browser after the sign-in. */
export function callbackUrl(deps: Deps, realm: Realm, provider: string): string {
  return `${deps.config.publicUrl}${realm.base}/oauth/${provider}/callback`;
}

/** Begins a sign-in at a provider: authorization code flow with PKCE, state and nonce. */
export function beginOAuth(deps: Deps, input: BeginOAuth): Promise<OAuthStart> {
  return start(deps, input, null);
}

/** Begins to link an identity at a provider to the signed-in account. */
export async function beginLink(
  deps: Deps,
  actor: Actor,
  input: Omit<BeginOAuth, "invite">,
): Promise<OAuthStart> {
  requireOwn(actor, input.realm.name, "identities");
  const { sub, sid } = actor;
  return start(deps, input, { sub, sid });
}

async function start(
  deps: Deps,
  { realm, provider: id, invite, back }: BeginOAuth,
  link: { sub: string; sid: string } | null,
): Promise<OAuthStart> {
  const provider = findProvider(realm, id);
  await enforceRateLimit(deps, "begin");
  const server = await discovered(deps, provider);
  const [state, nonce, verifier] = [deps.randomToken(32), deps.randomToken(32), deps.randomToken(32)];
  const { issuer, clientId, scopes = DEFAULT_SCOPES } = provider;
  const cookie = await sealState(deps, {
    realm: realm.name,
    provider: id,
    issuer,
    state,
    nonce,
    verifier,
    invite: invite ?? null,
    back,
    link,
  });
  const url = new URL(server.authorization_endpoint ?? "");
  const parameters = {
    client_id: clientId,
    redirect_uri: callbackUrl(deps, realm, id),
    response_type: "code",
    scope: [...new Set(["openid", ...scopes])].join(" "),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, cookie };
}
