import type { Deps } from "../deps.ts";
import { sha256 } from "../kernel/ids.ts";
import { buckets } from "../store/subjects.ts";
import type { Consistency } from "../store/types.ts";
import { readAccount } from "./accounts.ts";
import {
  type AccountActor,
  type Actor,
  type ActorToken,
  actorId,
  anonymous,
  type Behalf,
  type DirectActor,
  type HandlerActor,
  NEVER,
  OF_TOKEN,
  type PreviewActor,
  scheduleActor,
  system,
} from "./actor.ts";
import { noteTokenUse, readApiToken, type VerifiedToken, verifyApiToken } from "./api-token.ts";
import { PLATFORM_REALM } from "./authorize.ts";
import { isEffective } from "./bootstrap.ts";
import { covers, isTokenText } from "./credentials/index.ts";
import { bucketsOf } from "./realms.ts";
import { handlerRefusal, pinnedRefusal, previewRefusal, realmRefusal } from "./refusals.ts";
import { readSession } from "./sessions.ts";
import {
  badToken,
  claimedRealm,
  claimsHandler,
  claimsPreview,
  type PreviewClaims,
  verifyHandlerToken,
  verifyPreviewToken,
  verifyToken,
} from "./tokens.ts";

export interface Credentials {
  /** Session token or API token. If present, cookies are ignored. */
  bearer?: string | undefined;
  /** Returns a cookie by its name; undefined if the request has several cookies of that name. */
  cookies?: ((name: string) => string | undefined) | undefined;
}

/** The realms whose tokens a route accepts. A realm is a separate set of accounts. */
export interface AcceptedRealms {
  platform?: boolean;
  realms?: readonly string[];
  /** Id of an application. Handlers of this application that act on behalf of their callers are accepted too. */
  handlersOf?: string;
  /** Id of an application. Holders of preview links to its entries are accepted too. */
  previewsOf?: string;
  /**
   * Whether the route serves API tokens that are pinned to a revision of a definition: it shows and takes the shape of
   * that revision, or no entries at all. Other routes reject these tokens.
   */
  pinned?: boolean;
}

/** Returns the prefix of all names of cookies. With `__Host-`, sibling subdomains cannot set a cookie. */
export function hostPrefix({ publicUrl }: { publicUrl: string }): string {
  return publicUrl.startsWith("https:") ? "__Host-" : "";
}

export function cookieName(config: { publicUrl: string }, realm: string): string {
  return `${hostPrefix(config)}session_${realm}`;
}

export function isSessionCookie(config: { publicUrl: string }, name: string): boolean {
  return name.startsWith(cookieName(config, ""));
}

/**
 * Returns the account that sent a request, or an anonymous caller.
 *
 * An invalid bearer token is an error. An invalid cookie is ignored, so that an expired session does not block public
 * pages.
 * @param consistency use `leader` for writes, because `cached` may accept a session that has just ended
 * @throws AppError unauthenticated `invalid_token`; forbidden `other_realm`
 */
export async function authenticate(
  deps: Deps,
  credentials: Credentials,
  want: AcceptedRealms,
  consistency: Consistency = "cached",
): Promise<Actor> {
  const realms = [...(want.realms ?? []), ...(want.platform === true ? [PLATFORM_REALM] : [])];
  const { bearer } = credentials;
  if (bearer !== undefined) {
    if (claimsHandler(bearer)) return handlerOf(deps, bearer, want.handlersOf, consistency);
    if (claimsPreview(bearer)) return previewOf(deps, bearer, want.previewsOf, consistency);
    return isTokenText(bearer)
      ? tokenActor(deps, bearer, { ...want, realms }, consistency)
      : actorOf(deps, bearer, realms, consistency);
  }
  for (const realm of realms) {
    const cookie = credentials.cookies?.(cookieName(deps.config, realm));
    if (cookie === undefined || claimedRealm(cookie) !== realm) continue;
    const actor = await actorOf(deps, cookie, [realm], consistency).catch((error: unknown) => {
      if (isBadToken(error)) return anonymous;
      throw error;
    });
    if (actor.kind !== "anonymous") return actor;
  }
  return anonymous;
}

function isBadToken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "invalid_token";
}

async function actorOf(
  deps: Deps,
  jwt: string,
  realms: readonly string[],
  consistency: Consistency,
): Promise<DirectActor> {
  const claims = await verifyToken(deps.config, jwt, deps.clock.now());
  const actor = await accountWith(deps, claims, consistency);
  if (!realms.includes(claims.realm)) throw realmRefusal(claims.realm, realms);
  return actor;
}

/**
 * Returns the handler that sent a credential. Throws 401 if the session or API token of the user who called the
 * handler has ended.
 */
async function handlerOf(
  deps: Deps,
  jwt: string,
  accepted: string | undefined,
  consistency: Consistency,
): Promise<HandlerActor> {
  const claims = await verifyHandlerToken(deps.config, jwt, deps.clock.now());
  const { handler, orb, acts, requestId, caller, exp } = claims;
  const account =
    caller === null
      ? anonymous
      : "schedule" in caller
        ? scheduleActor(orb, caller.schedule)
        : await accountWith(deps, { ...caller, exp }, consistency);
  if (orb !== accepted) throw handlerRefusal(claims);
  return { kind: "handler", handler, orb, acts, caller: account, requestId };
}

/** Storage key of the mark of a preview link that was ended. Contains the account, so only the link's author can set it. */
export function endedPreviewKey({
  id,
  author,
}: Pick<PreviewClaims, "id"> & {
  author: Pick<PreviewClaims["author"], "realm" | "sub">;
}): Promise<string> {
  return sha256(`preview ${author.realm} ${author.sub} ${id}`);
}

/**
 * Returns the holder of a preview link. Throws 401 if the link has expired or was ended, or if the session or API token
 * with which it was made has ended.
 */
async function previewOf(
  deps: Deps,
  jwt: string,
  accepted: string | undefined,
  consistency: Consistency,
): Promise<PreviewActor> {
  const claims = await verifyPreviewToken(deps.config, jwt, deps.clock.now());
  if (claims.orb !== accepted) throw previewRefusal();
  const { orb, entry, change, exp } = claims;
  const [account, ended] = await Promise.all([
    accountWith(deps, { ...claims.author, exp }, consistency),
    endedPreviewKey(claims).then((key) =>
      deps.store.kvGet(buckets.challenges, key, { consistency: "leader" }),
    ),
  ]);
  if (ended !== null || (account.kind !== "platform" && account.kind !== "orb")) throw badToken();
  // The token of the link's author may have any scope. The link itself only reads, and only in its application.
  if (account.token !== undefined && !covers(account.token.scopes, [{ orb, can: ["read"] }]))
    throw badToken();
  const token = { id: account.token?.id ?? claims.id, scopes: [{ orb, can: ["read"] as const }] };
  return { kind: "preview", orb, entry, change, author: { ...account, token } };
}

/**
 * Returns the account of a session or an API token with its current role.
 * @param account.sid id of the session or token, in the format of {@link credentialOf}
 */
export async function accountWith(
  deps: Deps,
  { realm, sub, sid, exp }: { realm: string; sub: string; sid: string; exp: number },
  consistency: Consistency,
): Promise<DirectActor> {
  if (sid.startsWith(OF_TOKEN)) {
    const found = await readApiToken(deps, { realm, sub, id: sid.slice(OF_TOKEN.length) }, consistency);
    if (found === null) throw badToken();
    return holderOf(found);
  }
  const session = await readSession(deps, realm, sub, sid, consistency);
  if (session === null) throw badToken();
  const { name, email, role } = session;
  return realm === PLATFORM_REALM
    ? { kind: "platform", sub, sid, exp, name, email }
    : { kind: "orb", realm, sub, sid, exp, name, role };
}

async function tokenActor(
  deps: Deps,
  text: string,
  want: AcceptedRealms & { realms: readonly string[] },
  consistency: Consistency,
): Promise<DirectActor> {
  const verified = await verifyApiToken(deps, text, consistency);
  const { realm, record } = verified;
  if (!want.realms.includes(realm)) throw realmRefusal(realm, want.realms);
  if (record.definition !== undefined && want.pinned !== true) throw pinnedRefusal(record.definition);
  noteTokenUse(deps, verified);
  return holderOf(verified);
}

const tokenOf = ({ id, scopes, definition }: VerifiedToken["record"]): ActorToken => ({
  id,
  scopes,
  definition,
});

/** Returns the account of an API token, with its current name and role. */
function holderOf({ realm, sub, id, record, account }: VerifiedToken): AccountActor {
  const { name, email, role } = account;
  const exp = record.expiresAt === null ? NEVER : Math.floor(Date.parse(record.expiresAt) / 1000);
  const signedIn = { sub, sid: id, exp, name, token: tokenOf(record) };
  return realm === PLATFORM_REALM
    ? { kind: "platform", ...signedIn, email }
    : { kind: "orb", ...signedIn, realm, role };
}

/**
 * Checks again whether a session or an API token is still valid.
 * @param credential id as {@link credentialOf} returned it
 * @returns the scopes of an API token, or no scopes for a session; null if the session or API token has ended
 */
export async function lastingCredential(
  deps: Deps,
  holder: { realm: string; sub: string; credential: string },
  consistency: Consistency = "cached",
): Promise<{ token?: ActorToken } | null> {
  const { realm, sub, credential } = holder;
  if (!credential.startsWith(OF_TOKEN)) {
    return (await readSession(deps, realm, sub, credential, consistency)) === null ? null : {};
  }
  const id = credential.slice(OF_TOKEN.length);
  const found = await readApiToken(deps, { realm, sub, id }, consistency);
  return found === null ? null : { token: tokenOf(found.record) };
}

/**
 * Returns a caller with the rights that its account has now, for work that the platform does later on its behalf.
 * Returns null if the account was removed or disabled, or if the API token has expired or was revoked. The end of a
 * session changes nothing.
 */
export async function actorFor(deps: Deps, behalf: Behalf): Promise<Actor | null> {
  const account = await accountFor(deps, behalf);
  const { through } = behalf;
  if (account === null || through === undefined) return account;
  return { kind: "handler", ...through, caller: account, requestId: deps.request.requestId };
}

async function accountFor(
  deps: Deps,
  { realm: name, sub, token, schedule, through }: Behalf,
): Promise<DirectActor | null> {
  if (schedule !== undefined) return through === undefined ? null : scheduleActor(through.orb, schedule);
  if (name === undefined) return sub === actorId(system) ? system : null;
  if (token !== undefined) {
    const found = await readApiToken(deps, { realm: name, sub, id: token }, "leader");
    return found === null ? null : holderOf(found);
  }
  const realm = { name, buckets: bucketsOf(name) };
  const account = await readAccount(deps, realm, sub, "leader");
  if (account === null || !(await isEffective(deps, realm, account.value))) return null;
  const { name: called, email, role } = account.value;
  const signedIn = { sub, sid: "", exp: NEVER, name: called };
  return name === PLATFORM_REALM
    ? { kind: "platform", ...signedIn, email }
    : { kind: "orb", ...signedIn, realm: name, role };
}
