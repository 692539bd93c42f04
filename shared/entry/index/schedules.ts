/**
 * Validity windows, moved by the broker's own scheduler: no process of ours has to run at the edge.
 *
 * A schedule never targets the log: a fire carries no expectation and would overwrite what was written meanwhile. It
 * targets the live subject, for subscribers; readers judge by the head. Its subject carries the revision, because a
 * fire purges the schedule's subject, and a replacement there could be erased with it.
 */
import type { Deps } from "../../deps.ts";
import { pause } from "../../kernel/pause.ts";
import { PAIR_BYTES } from "../../store/budget.ts";
import { type EntryAddress, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { orNull } from "../model/resolve.ts";
import {
  type EntrySnapshot,
  liveCopy,
  liveCopyOf,
  snapshotOf,
  TOMBSTONE_SECONDS,
  tombstone,
  visible,
} from "../model/snapshot.ts";
import { publishedOf } from "./held.ts";

/** A fire may come this much late, in milliseconds: the scheduler's step, with room for a slow disk. */
const LATE_MS = 600;
/** An edge nearer than this may fire while its cancellation is on the way. */
const NEAR_MS = 1_000;
/** An edge that is overdue by more has fired, or its broker was away; a fire that late is hidden by the head. */
const OVERDUE_MS = 15_000;
/** Seconds for which a cancellation stays on the schedule's subject. */
const CANCELLED_SECONDS = 1;

/**
 * The broker counts nanoseconds in 64 bits, which end in 2262: a later time would fire at once. An edge as far away as
 * this ("never", mostly) is left to the head alone.
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

/** What a published revision puts on its live subject, now and later. */
export function publishMessages(
  address: EntryAddress,
  role: LiveRole,
  published: EntrySnapshot,
  previous: EntrySnapshot | null,
  now: number,
): Append[] {
  const { liveFrom, liveTo, revision } = published;
  const messages: Append[] = [];
  if (liveFrom !== null && Date.parse(liveFrom) > now) {
    if (Date.parse(liveFrom) < LAST_SCHEDULED) {
      messages.push(schedule(address, role, revision, "open", liveFrom, liveCopy(published)));
    }
    // What was live before gives way now: the new revision is the live one, and it is not visible yet.
    if (previous !== null && previous.publishedRevision !== null) {
      messages.push(leave(address, role, published, new Date(now).toISOString()));
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

/** The tombstone that tells subscribers that the entry left. */
export function leave(
  address: EntryAddress,
  role: LiveRole,
  by: Pick<EntrySnapshot, "id" | "orb" | "module" | "schema" | "revision">,
  at: string,
): Append {
  return {
    subject: subjects.entryLive(address, role),
    data: JSON.stringify(tombstone(by, by.revision, at)),
    rollup: true,
    ttl: TOMBSTONE_SECONDS,
  };
}

/** Cancels what was scheduled for the live revision of a head. */
export function cancelMessages(address: EntryAddress, head: EntrySnapshot): Append[] {
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

/** Milliseconds of the cancelled edges that may fire while, or just after, they are cancelled. */
function nearEdges(head: EntrySnapshot, now: number): number[] {
  return [head.liveFrom, head.liveTo]
    .filter((edge) => edge !== null)
    .map((edge) => Date.parse(edge))
    .filter((edge) => edge - now < NEAR_MS && now - edge < OVERDUE_MS);
}

/**
 * After a write that cancelled schedules of `before`: when one of them was about to fire, looks whether it did, now
 * and once more when the latest fire can have come, and puts right what is on the live subject.
 */
export async function lookAgain(
  deps: Deps,
  address: EntryAddress,
  role: LiveRole,
  before: EntrySnapshot,
): Promise<void> {
  const now = deps.clock.now();
  const edges = before.publishedRevision === null ? [] : nearEdges(before, now);
  if (edges.length === 0) return;
  await repairLive(deps, address, role);
  const wait = Math.max(0, Math.max(...edges) - now) + LATE_MS;
  deps.afterwards(pause(wait).then(() => repairLive(deps, address, role)));
}

/**
 * Makes a live subject say what the head says. It expects the message that it found there: whoever publishes or
 * withdraws meanwhile wins.
 * @returns whether anything had to be put right
 */
async function repairLive(deps: Deps, address: EntryAddress, role: LiveRole): Promise<boolean> {
  const stream = streams.orb(address.orb);
  const log = subjects.entryLog(address);
  const subject = subjects.entryLive(address, role);
  for (let attempt = 0; attempt < 5; attempt++) {
    const found = await orNull(deps.store.getMany(stream, [log, subject], { maxBytes: PAIR_BYTES }));
    if (found === null) return false;
    const headMessage = found.get(log);
    const head = snapshotOf(headMessage);
    const live = found.get(subject);
    const copy = liveCopyOf(live);
    const now = deps.clock.now();
    const shown = head !== null && visible(head, now);
    if (shown ? copy?.revision === head.publishedRevision : copy === null) return false;
    const expect = { seq: live?.seq ?? 0 };
    try {
      if (!shown) {
        if (copy === null) return false;
        const by = { ...copy, revision: head?.revision ?? copy.revision };
        await deps.store.append(stream, { ...leave(address, role, by, new Date(now).toISOString()), expect });
      } else {
        const published = await publishedOf(deps, { head, address });
        if (published === null) return false;
        await deps.store.append(stream, {
          subject,
          data: JSON.stringify(liveCopy(published)),
          rollup: true,
          expect,
        });
      }
      return true;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
  return false;
}
