import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";
import { BoundedMap } from "../kernel/bounded-map.ts";
import { AppError } from "../kernel/errors.ts";
import { isToken } from "../store/subjects.ts";
import { type AccountRole, isAccountRole } from "./actor.ts";
import { PLATFORM_REALM } from "./authorize.ts";
import { isTokenText, readTokenText } from "./credentials/index.ts";

const ALGORITHM = "EdDSA";
/** Allowed clock difference between hosts in seconds. */
const TOLERANCE = 5;
/**
 * Values of the header `typ`. Each kind of token has its own value, so that a token of one kind is never accepted as
 * another kind.
 */
const SESSION_TYP = "JWT";
const HANDLER_TYP = "handler+jwt";
const PREVIEW_TYP = "preview+jwt";

/** Subjects of a handler's credential whose caller has no session. */
const ANONYMOUS = "anonymous";
const SCHEDULE = "schedule";

/** Claims of a verified token. `iat` and `exp` are seconds since the epoch. */
export interface Claims {
  sub: string;
  sid: string;
  realm: string;
  name: string;
  /** Set only for platform admins; empty if the admin has no email address. */
  email: string;
  /**
   * Role of the user of an application; always `owner` for platform admins. Authorization uses the role in the session,
   * not this claim.
   */
  role: AccountRole;
  iat: number;
  exp: number;
}

/** Claims of a handler's credential. The handler uses the credential to send requests on behalf of its caller. */
export interface HandlerClaims {
  /** Full name of the handler: `<service>.<handler>`. */
  handler: string;
  orb: string;
  acts: readonly string[];
  /** Id of the request that called the handler. */
  requestId: string;
  /**
   * Session or API token of the user who called the handler, or the schedule that called it; null for an anonymous
   * caller.
   */
  caller: { realm: string; sub: string; sid: string } | { schedule: string } | null;
  iat: number;
  exp: number;
}

/**
 * Claims of a preview link's token. Its holder sees one entry of an application as the account that made the link sees it.
 */
export interface PreviewClaims {
  /** Id of the link, with which its author can end it. */
  id: string;
  orb: string;
  /** Id of the entry. */
  entry: string;
  /** The change set within which the holder reads. */
  change?: string | undefined;
  /** The account that made the link, and the session or API token with which it did. The link ends with that. */
  author: { realm: string; sub: string; sid: string };
  iat: number;
  exp: number;
}

/** The public half of a signing key, as a JWK. */
export interface PublicKey {
  kty: string;
  crv: string;
  x: string;
  kid: string;
  alg: string;
  use: string;
}

interface KeySet {
  kid: string;
  signing: CryptoKey;
  verifying: ReadonlyMap<string, CryptoKey>;
  published: readonly PublicKey[];
}

/**
 * Caches imported keys by their JSON text. In Workers, a request must not await a promise that another request created.
 * So the cache contains keys, not promises.
 */
const imported = new Map<string, KeySet>();

async function keySet(text: string): Promise<KeySet> {
  const known = imported.get(text);
  if (known !== undefined) return known;
  const jwks = JSON.parse(text) as JWK[];
  const first = jwks[0];
  if (first?.kid === undefined) throw new Error("JWT_SIGNING_KEYS must be a list of private JWKs with kid");
  const verifying = new Map<string, CryptoKey>();
  const published: PublicKey[] = [];
  for (const { kty, crv, x, kid } of jwks) {
    if (kty !== "OKP" || crv !== "Ed25519" || x === undefined || kid === undefined)
      throw new Error("JWT_SIGNING_KEYS must contain only Ed25519 keys with kid");
    const open = { kty, crv, x, kid, alg: ALGORITHM, use: "sig" };
    published.push(open);
    verifying.set(kid, (await importJWK(open, ALGORITHM)) as CryptoKey);
  }
  const { kty, crv, x, d } = first;
  const signing = (await importJWK({ kty, crv, x, d } as JWK, ALGORITHM)) as CryptoKey;
  const set = { kid: first.kid, signing, verifying, published };
  imported.set(text, set);
  return set;
}

export async function publicKeys(config: {
  jwtSigningKeys: string;
}): Promise<{ keys: readonly PublicKey[] }> {
  return { keys: (await keySet(config.jwtSigningKeys)).published };
}

interface TokenConfig {
  jwtSigningKeys: string;
  publicUrl: string;
}

export async function issueToken(config: TokenConfig, claims: Claims): Promise<string> {
  const keys = await keySet(config.jwtSigningKeys);
  const { sub, sid, realm, name, email, role, iat, exp } = claims;
  const payload: JWTPayload =
    realm === PLATFORM_REALM
      ? { sub, email, name, type: "platform", sid, iat, exp, iss: config.publicUrl }
      : { sub, orb: realm, role, name, type: "orb", sid, iat, exp, iss: config.publicUrl };
  return sign(keys, payload, SESSION_TYP);
}

export async function issueHandlerToken(config: TokenConfig, claims: HandlerClaims): Promise<string> {
  const { handler, orb, acts, requestId, caller, iat, exp } = claims;
  const of =
    caller === null ? { sub: ANONYMOUS } : "schedule" in caller ? { sub: SCHEDULE, ...caller } : caller;
  const payload = { ...of, type: "handler", handler, orb, acts: [...acts], requestId, iat, exp };
  return sign(await keySet(config.jwtSigningKeys), { ...payload, iss: config.publicUrl }, HANDLER_TYP);
}

export async function issuePreviewToken(config: TokenConfig, claims: PreviewClaims): Promise<string> {
  const { id: jti, orb, entry, change, author, iat, exp } = claims;
  const of = change === undefined ? { entry } : { entry, change };
  const payload = { ...author, type: "preview", jti, orb, ...of, iat, exp, iss: config.publicUrl };
  return sign(await keySet(config.jwtSigningKeys), payload, PREVIEW_TYP);
}

function sign({ kid, signing }: KeySet, payload: JWTPayload, typ: string): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg: ALGORITHM, kid, typ }).sign(signing);
}

export function badToken(cause?: unknown): AppError {
  return new AppError(
    "unauthenticated",
    "invalid_token",
    "The token is not valid or has expired. Sign in again.",
    {
      cause,
    },
  );
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/**
 * Returns the realm (set of accounts) that a token claims to belong to. The token is not verified, so use the result
 * only to choose a cookie.
 */
export function claimedRealm(token: string): string | null {
  if (isTokenText(token)) return readTokenText(token)?.realm ?? null;
  try {
    const { type, orb } = decodeJwt(token);
    return type === "platform" ? PLATFORM_REALM : typeof orb === "string" ? orb : null;
  } catch {
    return null;
  }
}

/** Caches the claims of verified tokens. Each request still checks that the session exists. */
const verified = new BoundedMap<string, TokenConfig & { claims: Claims }>(1_000);

/** Returns the claims of a session token that was verified before and has not expired. */
function verifiedBefore(config: TokenConfig, token: string, now: number): Claims | undefined {
  const known = verified.get(token);
  if (known?.publicUrl !== config.publicUrl || known.jwtSigningKeys !== config.jwtSigningKeys)
    return undefined;
  if (known.claims.exp > Math.floor(now / 1000) - TOLERANCE) return known.claims;
  verified.delete(token);
  return undefined;
}

/** Returns the payload of a token with a valid signature, algorithm, issuer and lifetime. */
async function verifiedPayload(
  config: TokenConfig,
  token: string,
  now: number,
  typ: string,
): Promise<JWTPayload> {
  try {
    const { verifying } = await keySet(config.jwtSigningKeys);
    const { payload } = await jwtVerify(
      token,
      (header) => {
        const key = header.kid === undefined ? undefined : verifying.get(header.kid);
        if (key === undefined) throw new Error("unknown key");
        return key;
      },
      {
        algorithms: [ALGORITHM],
        issuer: config.publicUrl,
        typ,
        requiredClaims: ["sub", "iat", "exp", "type", ...(typ === SESSION_TYP ? ["sid"] : [])],
        currentDate: new Date(now),
        clockTolerance: TOLERANCE,
      },
    );
    return payload;
  } catch (error) {
    throw badToken(error);
  }
}

/**
 * Verifies signature, algorithm, issuer, lifetime and kind. The caller must check the realm (set of accounts).
 * @throws AppError unauthenticated `invalid_token`, with the same text for every reason
 */
export async function verifyToken(config: TokenConfig, token: string, now: number): Promise<Claims> {
  const known = verifiedBefore(config, token, now);
  if (known !== undefined) return known;
  const payload = await verifiedPayload(config, token, now, SESSION_TYP);
  const { sub = "", sid, type, orb, role, iat = 0, exp = 0 } = payload;
  const realm = type === "platform" ? PLATFORM_REALM : type === "orb" ? text(orb) : "";
  const platform = realm === PLATFORM_REALM;
  if (platform !== (type === "platform")) throw badToken();
  if (!platform && !isAccountRole(text(role))) throw badToken();
  if (!isToken(sub) || !isToken(text(sid)) || !isToken(realm)) throw badToken();
  const claims: Claims = {
    sub,
    sid: text(sid),
    realm,
    name: text(payload.name),
    email: text(payload.email),
    role: platform ? "owner" : text(role),
    iat,
    exp,
  };
  const { jwtSigningKeys, publicUrl } = config;
  verified.set(token, { jwtSigningKeys, publicUrl, claims });
  return claims;
}

/**
 * Cache: for each JWT header, the kind of token that it names. Few entries suffice, because all tokens of one kind and
 * signing key have the same header.
 */
const decodedHeaders = new BoundedMap<string, string>(16);

/** Returns the kind of token that a bearer token claims to be. Does not verify the token. */
function claimedKind(token: string): string {
  // A cached token is a session token, because no other tokens are cached.
  if (verified.has(token)) return SESSION_TYP;
  const header = token.slice(0, token.indexOf("."));
  const known = decodedHeaders.get(header);
  if (known !== undefined) return known;
  let kind = "";
  try {
    kind = text(decodeProtectedHeader(token).typ);
  } catch {
    // The header is not valid JSON. The verification that follows will reject the token.
  }
  decodedHeaders.set(header, kind);
  return kind;
}

/** Returns whether a bearer token claims to be a handler's credential. Does not verify the token. */
export const claimsHandler = (token: string): boolean => claimedKind(token) === HANDLER_TYP;

/** Returns whether a bearer token claims to be of a preview link. Does not verify the token. */
export const claimsPreview = (token: string): boolean => claimedKind(token) === PREVIEW_TYP;

/**
 * Returns the change set that the token of a preview link names. The token is not verified, so use the result only to
 * complete a request that is verified later.
 */
export function claimedChange(token: string): string | undefined {
  try {
    const { change } = decodeJwt(token);
    return typeof change === "string" ? change : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Verifies the signature, algorithm, issuer, lifetime and kind of a preview link's token. The calling code must check the
 * application, the session, and whether the link was ended.
 * @throws AppError unauthenticated `invalid_token`, with the same text for every reason
 */
export async function verifyPreviewToken(
  config: TokenConfig,
  token: string,
  now: number,
): Promise<PreviewClaims> {
  const payload = await verifiedPayload(config, token, now, PREVIEW_TYP);
  const { type, jti = "", orb, entry, change, sub = "", realm, sid, iat = 0, exp = 0 } = payload;
  const author = { realm: text(realm), sub, sid: text(sid) };
  const names = [jti, text(orb), text(entry), ...Object.values(author)];
  if (type !== "preview" || !names.every(isToken)) throw badToken();
  if (change !== undefined && !isToken(text(change))) throw badToken();
  const within = change === undefined ? {} : { change: text(change) };
  return { id: jti, orb: text(orb), entry: text(entry), ...within, author, iat, exp };
}

/**
 * Verifies the signature, algorithm, issuer, lifetime and kind of a handler's credential. The calling code must check
 * the application and the session.
 * @throws AppError unauthenticated `invalid_token`, with the same text for every reason
 */
export async function verifyHandlerToken(
  config: TokenConfig,
  token: string,
  now: number,
): Promise<HandlerClaims> {
  // Do not cache the verified token, because a handler sends each token with only a few requests.
  const payload = await verifiedPayload(config, token, now, HANDLER_TYP);
  const { type, handler, orb, acts, requestId, sub = "", iat = 0, exp = 0 } = payload;
  const caller = callerIn(payload);
  if (type !== "handler" || !isToken(text(orb)) || !Array.isArray(acts)) throw badToken();
  if (caller === null ? sub !== ANONYMOUS : !Object.values(caller).every(isToken)) throw badToken();
  return {
    handler: text(handler),
    orb: text(orb),
    acts: acts.filter((act) => typeof act === "string"),
    requestId: text(requestId),
    caller,
    iat,
    exp,
  };
}

function callerIn({ sub = "", realm, sid, schedule }: JWTPayload): HandlerClaims["caller"] {
  if (sid !== undefined) return { realm: text(realm), sub, sid: text(sid) };
  return sub === SCHEDULE ? { schedule: text(schedule) } : null;
}

/**
 * Returns whether a session token, a handler's credential or the token of a preview link has a valid signature and has not
 * expired. The session itself may have ended.
 */
export function isVerified(config: TokenConfig, token: string, now: number): boolean | Promise<boolean> {
  if (verifiedBefore(config, token, now) !== undefined) return true;
  const verify = claimsHandler(token)
    ? verifyHandlerToken
    : claimsPreview(token)
      ? verifyPreviewToken
      : verifyToken;
  return verify(config, token, now).then(
    () => true,
    () => false,
  );
}
