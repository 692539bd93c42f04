import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { loadEntry } from "../model/resolve.ts";
import { tombstone } from "../model/snapshot.ts";
import { attempts } from "./attempts.ts";
import { changeEntry, type Target } from "./change.ts";
import { unreferenced } from "./lifecycle.ts";
import { statusOf } from "./update.ts";

export interface DeleteInput extends Target {
  /** Although other entries refer to it. */
  force?: boolean | undefined;
  /** Erases its revisions too, for good. For platform admins; also for an entry that was deleted before. */
  purge?: boolean | undefined;
}

/** Seconds for which the trace of a purge stays, so that a racing write still meets it. */
const PURGED_SECONDS = 5;

/**
 * Deletes an entry: 404 from then on, its unique values are free, its revisions stay until they are purged.
 * @throws AppError not_found; precondition `revision_mismatch`; conflict `referenced`, `wrong_state` when it
 * was written again between deletion and purge; forbidden, unauthenticated
 */
export async function deleteEntry(deps: Deps, actor: Actor, input: DeleteInput): Promise<void> {
  if (input.purge === true) requireOperator(actor, "entries.purge");
  const force = input.force === true;
  try {
    const { snapshot } = await changeEntry(deps, actor, input, {
      acts: ["delete"],
      request: ["delete", force],
      guarded: !force,
      async decide(state) {
        next(statusOf(state.base), "delete");
        return {
          operation: "delete",
          status: "DELETED",
          values: {},
          claims: [],
          validFrom: null,
          validTo: null,
          guards: force ? [] : await unreferenced(deps, actor, state),
          live: "withdraw",
          index: "remove",
        };
      },
    });
    if (input.purge !== true) return;
    await purge(deps, actor, input.orbId, snapshot.id);
  } catch (error) {
    // Deleted before, or by the call that this one repeats: purging is then all that is left to do.
    if (input.purge !== true || !isGone(error)) throw error;
    await purge(deps, actor, input.orbId, input.id);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "entry_not_found";
}

function writtenAgain(state: string): AppError {
  const detail = "The entry was deleted and written again since: nothing was erased.";
  return new AppError("conflict", "wrong_state", detail, { data: { state, operation: "purge" } });
}

/** Erases every revision: the message that replaces them all vanishes by itself. */
async function purge(deps: Deps, actor: Actor, orb: string, id: string): Promise<void> {
  const address: EntryAddress = await attempts(deps, orb, async () => {
    const entry = await loadEntry(deps, orb, id);
    if (entry === null) throw notFound("entry");
    // An id that follows from something, that of settings, may be written again: that is not what was to be erased.
    if (entry.head.status !== "DELETED") throw writtenAgain(entry.head.status);
    const at = new Date(deps.clock.now()).toISOString();
    await deps.store.append(streams.orb(orb), {
      subject: subjects.entryLog(entry.address),
      data: JSON.stringify(tombstone(entry.head, entry.head.revision + 1, at)),
      expect: { seq: entry.seq },
      rollup: true,
      ttl: PURGED_SECONDS,
    });
    return entry.address;
  });
  await audit(deps, {
    realm: orb,
    action: "entry",
    actor,
    target: address.id,
    outcome: "ok",
    detail: "purged",
  });
}
