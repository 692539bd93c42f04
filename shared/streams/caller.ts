/** Callers who read streams, and their rights. */
import { type Actor, actorId } from "../access/actor.ts";
import { orbOfRealm, PLATFORM_REALM } from "../access/authorize.ts";
import { requireCovered, type Scope, scopeIn } from "../access/credentials/index.ts";
import { clientKey } from "../access/limits.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { orbOf } from "../store/subjects.ts";
import type { Store } from "../store/types.ts";
import { getMapping, type Mapping } from "./mappings/index.ts";

export interface Caller {
  /** Id of the account. In filters, `{userID}` stands for this id. */
  userId: string;
  /** Whether the caller is a platform admin. Admins may read more streams at the same time. */
  admin: boolean;
  /** When the token expires, in milliseconds since the epoch. */
  expiresAt: number;
  /** True if the caller has no session. Such callers may read only public mappings. */
  anonymous?: boolean | undefined;
  /** Rights of the caller's API token. Undefined if the caller uses another credential. */
  limits?: TokenLimits | undefined;
}

export interface TokenLimits {
  scopes: readonly Scope[];
  /**
   * The application to which the account belongs, or `*` if it belongs to none. A token needs a scope for this name to
   * read streams that belong to no application.
   */
  home: string;
}

function needsSession(): AppError {
  return new AppError(
    "unauthenticated",
    "authentication_required",
    "Streams need authentication. Send a bearer token or sign in. To use the session cookie of an orb with accounts of its own, add ?realm= with the orb's id.",
  );
}

/** Returns the caller of a stream request. Throws 401 if the caller is anonymous. */
export function callerOf(actor: Actor): Caller {
  if (actor.kind !== "platform" && actor.kind !== "orb") throw needsSession();
  const { token, exp } = actor;
  const realm = actor.kind === "platform" ? PLATFORM_REALM : actor.realm;
  const limits = token === undefined ? undefined : { scopes: token.scopes, home: orbOfRealm(realm) };
  return { userId: actorId(actor), admin: actor.kind === "platform", expiresAt: exp * 1000, limits };
}

/**
 * Throws 403 if the scopes of the caller's API token do not allow reading a stream.
 * @param orb the application that the stream belongs to
 */
function requireStreamScope({ limits }: Caller, orb?: string): void {
  if (limits !== undefined) requireCovered(scopeIn(limits.scopes, orb ?? limits.home), "stream");
}

/** Returns the caller of a request for the list of streams. Throws if the caller may not list them. */
export function listerOf(actor: Actor): Caller {
  const caller = callerOf(actor);
  requireStreamScope(caller);
  return caller;
}

/**
 * Lifetime, in milliseconds, of a ticket (a URL parameter that identifies the caller) for a reader without a session.
 */
const ANONYMOUS_MS = 3_600_000;

/** Returns the caller of a stream request. Identifies an anonymous caller by a hash of its network. */
export async function readerOf({ request, clock }: Deps, actor: Actor): Promise<Caller> {
  if (actor.kind !== "anonymous") return callerOf(actor);
  const network = (await clientKey({ request })).slice(0, 22);
  return {
    userId: `network-${network}`,
    admin: false,
    expiresAt: clock.now() + ANONYMOUS_MS,
    anonymous: true,
  };
}

/**
 * Throws unless the caller may read the stream with this public name. Anonymous callers may read only public streams,
 * and get the same error for private and missing streams. API tokens may read only streams that their scopes cover.
 * @returns the mapping from the name to the broker's stream, if the check had to read the mapping
 */
export async function requireReadable(
  store: Store,
  name: string,
  caller: Caller,
): Promise<Mapping | undefined> {
  if (caller.limits !== undefined) {
    const mapping = await getMapping(store, name);
    requireStreamScope(caller, orbOf(mapping.stream));
    return mapping;
  }
  if (caller.anonymous !== true) return undefined;
  const mapping = await getMapping(store, name).catch((error: unknown) => {
    if (error instanceof AppError && error.kind === "not_found") throw needsSession();
    throw error;
  });
  if (mapping.read !== "public") throw needsSession();
  return mapping;
}
