/** Decides what a caller sees of an entry. Lists and live lists use these same functions. */
import type { Actor } from "../../access/actor.ts";
import { mayWith, principalIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { newestRevision, seenBy, type VisibleEntry } from "../index/visible.ts";
import { addressOf, type OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";

/**
 * Returns the newest revision of an entry, even if it is a draft. Returns undefined if the caller may not read drafts.
 * @param now milliseconds since the epoch
 */
export function newestFor(
  actor: Actor,
  { compiled }: OrbContext,
  schema: CompiledSchema,
  head: EntrySnapshot,
  now: number,
): VisibleEntry | undefined {
  const { id, createdBy } = head;
  if (!mayWith(actor, compiled, "readDraft", { access: schema.access, createdBy })) return undefined;
  return newestRevision(schema, addressOf(schema, id), head, now);
}

/** Returns an entry without the values that the caller may not read, or undefined if the caller may not read the entry. */
export function shownTo<T extends VisibleEntry>(
  actor: Actor,
  { orb, compiled }: OrbContext,
  schema: CompiledSchema,
  seen: T,
): T | undefined {
  const { createdBy } = seen.head;
  if (!mayWith(actor, compiled, "read", { access: schema.access, createdBy })) return undefined;
  return seenBy(principalIn(actor, orb, compiled), seen);
}
