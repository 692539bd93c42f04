import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { next } from "../../definition/document/index.ts";
import { requireWhole } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { releaseFiles } from "../../files/release.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { eraseUnsaved, unsavedKeys } from "../../store/editing.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { BATCH_LIMIT } from "../../store/types.ts";
import { liveTombstone } from "../index/index.ts";
import { GONE_SECONDS, loadEntry, tombstone } from "../model/index.ts";
import type { Shaping } from "../pinned/index.ts";
import { changeEntry, type Target } from "./change.ts";
import type { Change } from "./change-write.ts";
import { type Condition, requireCondition } from "./condition.ts";
import { unreferenced } from "./lifecycle.ts";
import { renewDefinition, retryOnConflict } from "./retry.ts";
import { requireSchema, statusOf } from "./update.ts";

export interface DeleteInput extends Target {
  force?: boolean | undefined;
  /**
   * Whether to erase all revisions too. Only platform admins may do this, even for entries that are already deleted.
   */
  purge?: boolean | undefined;
}

/** A purged entry's log keeps a deletion marker for this many seconds, so that a concurrent write gets a conflict. */
const PURGED_SECONDS = 5;

/** Deletes an entry and releases its unique values. Its revisions remain until a purge. */
export async function deleteEntry(deps: Deps, actor: Actor, input: DeleteInput): Promise<void> {
  if (input.purge === true) requireOperator(actor, "entries.purge", input.orbId);
  const force = input.force === true;
  try {
    const { snapshot } = await changeEntry(deps, actor, input, deleteChange(deps, actor, { force }));
    if (input.purge !== true) return;
    await purge(deps, actor, input.orbId, snapshot.id);
  } catch (error) {
    // The entry is already deleted, perhaps by an earlier attempt of this request. Only the purge is left to do.
    if (input.purge !== true || !isGone(error)) throw error;
    await purge(deps, actor, input.orbId, input.id);
  }
}

/** Returns the change that a deletion is. */
export function deleteChange(
  deps: Deps,
  actor: Actor,
  { force, when, shaping }: { force: boolean; when?: Condition | undefined; shaping?: Shaping | undefined },
): Change {
  return {
    acts: ["delete"],
    request: ["delete", force],
    guarded: !force,
    contended: when !== undefined,
    async decide(state) {
      next(statusOf(state.base), "delete");
      if (when !== undefined) {
        const schema = requireSchema(state);
        requireCondition(state, schema, when, await shaping?.(state.context, schema));
      }
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
  };
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "entry_not_found";
}

function writtenAgain(state: string): AppError {
  const detail =
    "The entry was created again after its deletion, so nothing was erased. Delete it again to purge it.";
  return new AppError("conflict", "wrong_state", detail, { data: { state, operation: "purge" } });
}

/** Erases the pending versions of an entry in all change sets. */
async function eraseVersions({ store }: Deps, orb: string, id: string): Promise<void> {
  const stream = streams.orb(orb);
  const { subjects: found } = await store.subjects(stream, subjects.changesOfEntry(orb, id));
  const messages = found.map((subject) => ({ subject, data: "", rollup: true, ttl: GONE_SECONDS }) as const);
  for (let i = 0; i < messages.length; i += BATCH_LIMIT)
    await store.batch(stream, messages.slice(i, i + BATCH_LIMIT));
}

/** Erases all revisions of an entry. One message replaces them all, marks the deletion, and expires. */
async function purge(deps: Deps, actor: Actor, orb: string, id: string): Promise<void> {
  requireWhole(orb, (await renewDefinition(deps, { orbId: orb })).fence);
  const address: EntryAddress = await retryOnConflict(deps, orb, async () => {
    const entry = await loadEntry(deps, orb, id);
    if (entry === null) throw notFound("entry");
    // A settings entry may have been created again with the same id after its deletion. Do not erase the new one.
    if (entry.head.status !== "DELETED") throw writtenAgain(entry.head.status);
    // Release the files before the history is erased. In the other order, a crash in between would leave the files
    // marked as used by an entry that no longer exists.
    // An entry that is restored at the same moment keeps its files.
    const head = { subject: subjects.entryLog(entry.address), seq: entry.seq };
    await releaseFiles(deps, orb, id, false, [head]);
    await eraseVersions(deps, orb, id);
    await eraseUnsaved(deps.store, unsavedKeys.ofEntry(orb, id));
    const at = new Date(deps.clock.now()).toISOString();
    // Clients that follow a list of drafts may still show the entry. This message tells them that the entry and its
    // history are gone.
    const gone = liveTombstone(entry.address, "admin", { ...entry.head, change: undefined }, at);
    await deps.store.append(streams.orb(orb), gone);
    await deps.store.append(streams.orb(orb), {
      subject: subjects.entryLog(entry.address),
      data: JSON.stringify(tombstone(entry.head, entry.head.revision + 1, at)),
      expect: { seq: entry.seq },
      rollup: true,
      ttl: PURGED_SECONDS,
    });
    return entry.address;
  });
  await audit(deps, { realm: orb, action: "entry", actor, target: address.id, detail: "purged" });
}
