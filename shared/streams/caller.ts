/** The callers of stream requests, and the streams that readers without a session may read. */
import { type Actor, actorId } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import type { Store } from "../store/types.ts";
import { getMapping, type Mapping } from "./mappings/mapping.ts";

export interface Caller {
  /** Id of the account. It replaces `{userID}` in filters. */
  userId: string;
  /** Whether the caller is a platform admin, who may read more streams at the same time. */
  admin: boolean;
  /** When the token expires, in milliseconds since the epoch. */
  expiresAt: number;
  /** Without a session: may read only public mappings. */
  anonymous?: boolean | undefined;
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
  return { userId: actorId(actor), admin: actor.kind === "platform", expiresAt: actor.exp * 1000 };
}

/** Milliseconds for which a ticket without a session is valid. */
const ANONYMOUS_MS = 3_600_000;

/** Returns the caller of an actor. Readers without a session are counted by their address. */
export async function readerOf({ request, clock }: Deps, actor: Actor): Promise<Caller> {
  if (actor.kind !== "anonymous") return callerOf(actor);
  const address = (await sha256(request.client)).slice(0, 22);
  return {
    userId: `address-${address}`,
    admin: false,
    expiresAt: clock.now() + ANONYMOUS_MS,
    anonymous: true,
  };
}

/**
 * Admits anonymous readers only to public mappings. They cannot tell a private mapping from a missing one.
 * @returns the mapping, if it had to be read
 */
export async function requireReadable(
  store: Store,
  name: string,
  caller: Caller,
): Promise<Mapping | undefined> {
  if (caller.anonymous !== true) return undefined;
  const mapping = await getMapping(store, name).catch((error: unknown) => {
    if (error instanceof AppError && error.kind === "not_found") throw needsSession();
    throw error;
  });
  if (mapping.read !== "public") throw needsSession();
  return mapping;
}
