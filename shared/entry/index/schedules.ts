/**
 * The broker's message scheduler shows an entry at `validFrom` and hides it at `validTo`, so no process of the platform
 * has to run at these times. A scheduled message replaces the published copy of the entry. It never goes into the
 * entry's log of revisions, where it could overwrite a concurrent write: the broker does not check an expected sequence
 * number for scheduled messages.
 */
import type { Deps } from "../../deps.ts";
import { pause } from "../../kernel/pause.ts";
import { retry } from "../../kernel/retry.ts";
import { PAIR_BYTES } from "../../store/budget.ts";
import { isConflict, nullIfMissing, nullOnConflict } from "../../store/pages.ts";
import { type EntryAddress, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import {
  type EntrySnapshot,
  liveCopy,
  liveCopyOf,
  type RevisionState,
  type StoredSnapshot,
  snapshotOf,
  TOMBSTONE_SECONDS,
  tombstone,
  visible,
} from "../model/index.ts";
import { storedPublished } from "./entry-keys.ts";

/** Maximum delay of a scheduled message in milliseconds: the broker's interval, plus time for a slow disk. */
const LATE_MS = 600;
/** A schedule cancelled less than this many milliseconds before its time may still be executed by the broker. */
const NEAR_MS = 1_000;
/** A schedule that is overdue by this many milliseconds counts as executed. */
const OVERDUE_MS = 15_000;
const CANCELLED_SECONDS = 1;

/**
 * Times after this one are not scheduled. The broker counts 64-bit nanoseconds, which overflow in 2262, and would
 * execute such a schedule immediately.
 */
const LAST_SCHEDULED = Date.UTC(2200, 0, 1);

function schedule(
  address: EntryAddress,
  role: LiveRole,
  revision: number,
  edge: "open" | "close",
  when: string,
  body: unknown,
): Append {
  return {
    subject: subjects.schedule(address.orb, address.id, revision, edge),
    data: JSON.stringify(body),
    headers: {
      "Nats-Schedule": `@at ${when}`,
      "Nats-Schedule-Target": subjects.entryLive(address, role),
      "Nats-Schedule-Rollup": "sub",
      ...(edge === "close" ? { "Nats-Schedule-TTL": `${TOMBSTONE_SECONDS}s` } : {}),
    },
  };
}

/**
 * Returns the messages that publish an entry: the published copy, and scheduled messages for `validFrom` and `validTo`.
 */
export function publishMessages(
  address: EntryAddress,
  role: LiveRole,
  published: StoredSnapshot,
  previous: RevisionState | null,
  now: number,
): Append[] {
  const { liveFrom, liveTo, revision } = published;
  const messages: Append[] = [];
  if (liveFrom !== null && Date.parse(liveFrom) > now) {
    if (Date.parse(liveFrom) < LAST_SCHEDULED) {
      messages.push(schedule(address, role, revision, "open", liveFrom, liveCopy(published)));
    }
    // The new revision becomes visible only at `validFrom`, so remove the published copy of the previous one now.
    if (previous !== null && previous.publishedRevision !== null) {
      messages.push(liveTombstone(address, role, published, new Date(now).toISOString()));
    }
  } else {
    messages.push({
      subject: subjects.entryLive(address, role),
      data: JSON.stringify(liveCopy(published)),
      rollup: true,
    });
  }
  if (liveTo !== null && Date.parse(liveTo) < LAST_SCHEDULED) {
    messages.push(schedule(address, role, revision, "close", liveTo, tombstone(published, revision, liveTo)));
  }
  return messages;
}

/** Returns the message that tells subscribers that the entry is no longer published. */
export function liveTombstone(
  address: EntryAddress,
  role: LiveRole,
  by: Pick<EntrySnapshot, "id" | "orb" | "module" | "schema" | "revision" | "change">,
  at: string,
): Append {
  const { change } = by;
  const mark = { ...tombstone(by, by.revision, at), ...(change === undefined ? {} : { change }) };
  return {
    subject: subjects.entryLive(address, role),
    data: JSON.stringify(mark),
    rollup: true,
    ttl: TOMBSTONE_SECONDS,
  };
}

export function cancelMessages(address: EntryAddress, head: RevisionState): Append[] {
  const revision = head.publishedRevision;
  if (revision === null) return [];
  const cancel = (edge: "open" | "close"): Append => ({
    subject: subjects.schedule(address.orb, address.id, revision, edge),
    data: "",
    rollup: true,
    ttl: CANCELLED_SECONDS,
  });
  return [
    ...(head.liveFrom === null ? [] : [cancel("open")]),
    ...(head.liveTo === null ? [] : [cancel("close")]),
  ];
}

/**
 * Returns those of the times `validFrom` and `validTo` at which the broker may still execute a cancelled schedule,
 * because they are near.
 */
function nearEdges(head: RevisionState, now: number): number[] {
  return [head.liveFrom, head.liveTo]
    .filter((edge) => edge !== null)
    .map((edge) => Date.parse(edge))
    .filter((edge) => edge - now < NEAR_MS && now - edge < OVERDUE_MS);
}

/**
 * The broker may still execute a schedule that was cancelled shortly before its time. So this function repairs the
 * published copy now, and once more after the scheduled time.
 */
export async function repairAfterCancel(
  deps: Deps,
  address: EntryAddress,
  role: LiveRole,
  before: RevisionState,
): Promise<void> {
  const now = deps.clock.now();
  const edges = before.publishedRevision === null ? [] : nearEdges(before, now);
  if (edges.length === 0) return;
  await repairLive(deps, address, role);
  const wait = Math.max(0, Math.max(...edges) - now) + LATE_MS;
  deps.afterwards(pause(wait).then(() => repairLive(deps, address, role)));
}

/** Makes the published copy match the newest revision. Does nothing if a concurrent write changes the copy first. */
async function repairLive(deps: Deps, address: EntryAddress, role: LiveRole): Promise<boolean> {
  const stream = streams.orb(address.orb);
  const log = subjects.entryLog(address);
  const subject = subjects.entryLive(address, role);
  const repair = async () => {
    const found = await nullIfMissing(deps.store.getMany(stream, [log, subject], { maxBytes: PAIR_BYTES }));
    if (found === null) return false;
    const headMessage = found.get(log);
    const head = snapshotOf(headMessage);
    const live = found.get(subject);
    const copy = liveCopyOf(live);
    const now = deps.clock.now();
    const shown = head !== null && visible(head, now);
    if (shown ? copy?.revision === head.publishedRevision : copy === null) return false;
    const expect = { seq: live?.seq ?? 0 };
    if (!shown) {
      if (copy === null) return false;
      const by = { ...copy, revision: head?.revision ?? copy.revision, change: undefined };
      await deps.store.append(stream, {
        ...liveTombstone(address, role, by, new Date(now).toISOString()),
        expect,
      });
    } else {
      const published = await storedPublished(deps, { head, address });
      if (published === null) return false;
      await deps.store.append(stream, {
        subject,
        data: JSON.stringify(liveCopy(published)),
        rollup: true,
        expect,
      });
    }
    return true;
  };
  return (await nullOnConflict(retry({ attempts: 5, after: isConflict }, repair))) ?? false;
}
