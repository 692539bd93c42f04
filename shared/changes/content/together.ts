/** Writes the pending versions of several entries into a change set in one atomic batch. */
import { type Actor, actorId } from "../../access/actor.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { TogetherDestination } from "../../entry/batch/index.ts";
import { type EntrySnapshot, type EntryWrite, guard, type OrbContext } from "../../entry/model/index.ts";
import { newestIn, onceEach } from "../../entry/write/index.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { isConflict, nullIfMissing } from "../../store/pages.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, TooMuch } from "../../store/types.ts";
import { editing } from "../record/index.ts";
import { contentMessage } from "./content.ts";
import { pendedBy, shownAs, turnOf, versionBefore, versionMessages, withItem } from "./pend.ts";
import { releaseNew } from "./release.ts";
import type { SetView } from "./view.ts";

interface Made {
  messages: Append[];
  snapshots: EntrySnapshot[];
  /** The new entries that leave the set. */
  gone: EntryAddress[];
}

/**
 * Returns where a batch stores its writes so that they become pending versions in a set. The batch must use the store
 * of the view.
 * @param deps the dependencies with the plain store
 */
export function intoSetTogether(deps: Deps, actor: Actor, view: SetView): TogetherDestination {
  return {
    turn: turnOf(view.orb, view.id),
    async store(by, writes, more) {
      try {
        const { messages, snapshots, gone } = await versionsOf(deps, actor, by, view, writes);
        const [first] = writes;
        if (first === undefined) return [];
        // The files of a version are kept with it. Other conditions are checked when the set is published.
        const files = writes.flatMap(({ write }) =>
          (write.guards ?? []).filter(({ carriers = [] }) => carriers.length > 0),
        );
        const edit = editing(deps, actor, by.orb, view.record);
        const { address } = first.write;
        // Two items may bring the same file.
        const all = onceEach(guard(address, [...edit.messages, ...more(snapshots), ...messages], files));
        const guards = [...edit.guards, fenceGuard(by.orb, by.fence)];
        await deps.store.batch(streams.orb(by.orb), guard(address, all, guards));
        await releaseNew(deps, by, gone);
        return snapshots;
      } catch (error) {
        if (isConflict(error)) await view.renew();
        throw error;
      }
    },
  };
}

async function versionsOf(
  deps: Deps,
  actor: Actor,
  { orb }: OrbContext,
  view: SetView,
  writes: readonly { write: EntryWrite; force: boolean }[],
): Promise<Made> {
  const { content, seq } = view.content;
  const before = await placesOf(deps, view, orb, writes);
  const made: Made = { messages: [], snapshots: [], gone: [] };
  let next = content;
  for (const { write, force } of writes) {
    const { address } = write;
    const { from, pending } = pendedBy(view, write, { force, now: deps.clock.now() });
    const newest = newestIn(write);
    const isFirst = versionBefore(view, write) === undefined;
    const revision = isFirst ? Math.max(newest.revision, (content.last ?? 0) + 1) : newest.revision;
    const snapshot = shownAs({ ...newest, revision }, pending.act);
    const place = before.get(subjects.changeVersion(view.id, address)) ?? 0;
    const version = await versionMessages(view.id, { write, snapshot, pending }, place);
    next = withItem(next, address.id, version.item, actorId(actor));
    made.messages.push(...version.messages);
    made.snapshots.push(snapshot);
    if (from === null && pending.act === "delete") made.gone.push(address);
  }
  made.messages.unshift(contentMessage(orb, view.id, next, seq));
  return made;
}

/**
 * Returns the sequence numbers of the messages that the versions replace. A version that has left the set leaves a
 * message for a moment.
 */
async function placesOf(
  deps: Deps,
  view: SetView,
  orb: string,
  writes: readonly { write: EntryWrite }[],
): Promise<Map<string, number>> {
  const places = new Map<string, number>();
  const unknown: string[] = [];
  for (const { write } of writes) {
    const subject = subjects.changeVersion(view.id, write.address);
    const mine = versionBefore(view, write);
    if (mine !== undefined) places.set(subject, mine.seq);
    else if (write.headSeq !== 0) unknown.push(subject);
  }
  if (unknown.length === 0) return places;
  const found = await nullIfMissing(
    deps.store.getMany(streams.orb(orb), unknown, { maxBytes: SMALL_BYTES }),
  ).catch((error: unknown) => {
    // Another request has written versions meanwhile, as below.
    throw error instanceof TooMuch ? new Conflict() : error;
  });
  for (const [subject, message] of found ?? []) {
    // Another request has written a version meanwhile. The conflict lets the batch be decided with it.
    places.set(subject, message.size === 0 ? message.seq : 0);
  }
  return places;
}
