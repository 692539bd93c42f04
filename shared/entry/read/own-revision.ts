/**
 * Recognises the revision that an earlier attempt of the same request wrote, if the request has an `Idempotency-Key` and
 * `If-Match`. `If-Match` tells behind which revision to look, so the key is a header of the revision that the request
 * writes. A message of its own would need an atomic batch, which takes a broker twenty times as long.
 */
import type { Deps } from "../../deps.ts";
import type { StoredMessage } from "../../store/types.ts";
import {
  isOwnClaim,
  LIFETIME_SECONDS,
  type LoadedEntry,
  type OrbContext,
  REQUEST,
  type Replay,
  type RequestMark,
  schemaOf,
  UNDOES,
  withNames,
} from "../model/index.ts";
import { logOf } from "./revisions.ts";

/** Number of later revisions among which a retry looks for its own: two, and those of attempts that were undone. */
const LATER = 10;

const isOwn = (request: RequestMark, header: string | undefined): boolean => {
  const [key, body = ""] = header?.split(" ") ?? [];
  return key === request.key && isOwnClaim(request, { body });
};

/** Returns the request that wrote a revision. Its key counts as long as the record of a key would. */
function requestIn({ clock }: Deps, message: StoredMessage | null): string | undefined {
  const since = clock.now() - LIFETIME_SECONDS * 1_000;
  return message === null || message.time < since ? undefined : message.header(REQUEST);
}

/** Returns the number of the revision whose content this revision brings back, because the platform undid a write. */
export function undoes(message: StoredMessage | null): number | undefined {
  const revision = message?.header(UNDOES);
  return revision === undefined ? undefined : Number(revision);
}

/**
 * Returns the response to an earlier attempt of a request, or null if it wrote nothing.
 * @param message the entry's newest revision
 * @param ifMatch the revision on which the request is based
 * @throws AppError invalid `idempotency_mismatch` if another request had the key
 */
export async function ownRevision(
  deps: Deps,
  context: OrbContext,
  entry: LoadedEntry,
  message: StoredMessage | null,
  request: RequestMark,
  ifMatch: number,
): Promise<Replay | null> {
  const { head, seq } = entry;
  if (isOwn(request, requestIn(deps, message))) return { snapshot: head, seq, replayed: true };
  if (head.revision <= ifMatch) return null;
  const log = logOf(deps, entry, (stored, one) => ({
    stored,
    request: requestIn(deps, one),
    isUndo: undoes(one) !== undefined,
  }));
  const place = await log.find(ifMatch);
  if (place === null) return null;
  const { items } = await log.ascending(LATER, place);
  const index = items.findLastIndex(({ value }) => isOwn(request, value.request));
  const found = items[index];
  if (found === undefined || items[index + 1]?.value.isUndo === true) return null;
  const schema = schemaOf(context.compiled, entry.address);
  return { snapshot: withNames(schema, found.value.stored), seq: found.seq, replayed: true };
}
