/**
 * Reads all stored data of a platform, and reports what is missing or contradicts itself. Needs no record of what the
 * streams contained earlier, so it cannot notice a loss that leaves no trace in what remains.
 */
import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { isOrbId } from "../definition/document/index.ts";
import {
  fenceNow,
  type LiveRecord,
  liveRecord,
  type OrbRecord,
  orbHead,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import type { HookState } from "../hooks/after/index.ts";
import { notFound } from "../kernel/errors.ts";
import { platformStreamNames } from "../store/broker/index.ts";
import { fileStream } from "../store/file-subjects.ts";
import { buckets, lastToken, streams, subjects } from "../store/subjects.ts";
import type { Store } from "../store/types.ts";
import { type Damage, Damages } from "./damage.ts";
import { verifyEntries } from "./entries.ts";
import { verifyFiles } from "./files.ts";
import { pagesOf, readWhole } from "./walk.ts";

/** Streams whose messages expire within minutes or days. Nothing durable is in them. */
export const PASSING: readonly string[] = [
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.usage,
  streams.heartbeat,
  streams.kv(buckets.challenges),
  streams.kv(buckets.presence),
];

interface History {
  revision: number;
  isImported: boolean;
  isThere: boolean;
}

/**
 * Reads the histories of applications. Reports missing revisions.
 * @param filter matches the histories to read
 */
async function verifyHistories(
  { store }: Deps,
  damages: Damages,
  filter: string = subjects.allOrbHistories,
): Promise<Map<string, History>> {
  const found = new Map<string, History>();
  const stream = streams.platform;
  for await (const messages of pagesOf(store, stream, filter)) {
    for (const message of messages) {
      const { revision, operation } = message.json<OrbRecord>();
      const orb = lastToken(message.subject);
      const before = found.get(orb);
      if (revision !== (before?.revision ?? 0) + 1) {
        const says = `the history of orb ${orb} has revision ${revision} after ${before?.revision ?? "its beginning"}.`;
        damages.add({ stream, from: message.seq, says });
      }
      found.set(orb, {
        revision,
        isImported: operation === "importing" || (operation !== "deleted" && before?.isImported === true),
        isThere: operation !== "deleting" && operation !== "deleted" && operation !== "importing",
      });
    }
  }
  return found;
}

/** Compares the live definitions of all applications with their histories. */
async function verifyLive(store: Store, found: Map<string, History>, damages: Damages): Promise<void> {
  const stream = streams.kv(buckets.orbs);
  for await (const messages of pagesOf(store, stream, ">")) {
    for (const message of messages) {
      if (message.size === 0) continue;
      const { orb, revision } = message.json<LiveRecord>();
      // The orb may have been published after its history was read.
      if (revision <= (found.get(orb)?.revision ?? 0)) continue;
      const head = await orbHead({ store }, orb);
      if (head !== null && revision <= head.revision) continue;
      const says = `orb ${orb} is published with revision ${revision}, and its history ${head === null ? "is missing" : `ends with revision ${head.revision}`}.`;
      damages.add({ stream: streams.platform, says });
    }
  }
}

/** Compares what other streams know about the stream of an application with its last sequence number. */
async function verifyEnd(deps: Deps, orb: string, damages: Damages): Promise<void> {
  const stream = streams.orb(orb);
  // Read these first: the stream only grows meanwhile.
  const live = await liveRecord(deps, orb);
  const marks = new Map<string, number>();
  if (live?.record.fence !== undefined) marks.set("the fence of its definition", live.record.fence.seq);
  for (const [hook, seq] of Object.entries(live?.record.since ?? {}))
    marks.set(`the start of hook ${hook}`, seq);
  for await (const states of pagesOf(deps.store, streams.hooks, subjects.hookStates(orb))) {
    for (const message of states) {
      if (message.size === 0) continue;
      const { cursor, origin } = message.json<HookState>();
      const hook = lastToken(message.subject);
      if (origin !== "ticks") marks.set(`the progress of hook ${hook}`, cursor);
    }
  }
  const last = (await deps.store.streamInfo(stream))?.state.last_seq;
  const { fence } = live?.record ?? {};
  if (fence !== undefined && fence.seq > 0 && fence.seq <= (last ?? 0)) {
    const stored = await deps.store.getSeq(stream, fence.seq);
    const now = await liveRecord(deps, orb);
    if (
      stored === null &&
      now?.revision === live?.revision &&
      (await fenceNow(deps, orb, fence)).seq <= fence.seq
    ) {
      damages.add({ stream, from: fence.seq, says: "the fence of the orb's definition is missing." });
    }
  }
  for (const [what, seq] of marks) {
    if (last === undefined || seq <= last) continue;
    damages.add({ stream, from: last + 1, to: seq, says: `the stream ends before ${what}.` });
  }
}

/** Checks one application, with the content of its files. */
async function verifyOrb(
  deps: Deps,
  orb: string,
  history: History,
  damages: Damages,
  remembered?: number,
): Promise<void> {
  if (!(await verifyEntries(deps.store, orb, damages, { ...history, remembered }))) {
    if (history.isThere) damages.add({ stream: streams.orb(orb), says: "the stream does not exist." });
    return;
  }
  await verifyEnd(deps, orb, damages);
  await readWhole(deps.store, fileStream(orb), damages);
  await verifyFiles(deps, orb, damages);
}

/** A request has less memory than a command. */
const REMEMBERED_BY_REQUEST = 50_000;

/**
 * Checks one application with its history and the content of its files, for a platform admin.
 * @throws AppError orb_not_found
 */
export async function verifyOne(deps: Deps, actor: Actor, orb: string): Promise<Damages> {
  requireOperator(actor, "entries.export", orb);
  if (!isOrbId(orb)) throw notFound("orb");
  const damages = new Damages();
  const history = (await verifyHistories(deps, damages, subjects.orbHistory(orb))).get(orb);
  if (history?.isThere !== true) throw notFound("orb");
  await verifyOrb(deps, orb, history, damages, REMEMBERED_BY_REQUEST);
  return damages;
}

/**
 * Checks all streams, one after the other.
 * @param done receives the damages of a stream, or of an application, when it has been read. The list is empty if
 *   nothing is wrong
 */
export async function verifyAll(
  deps: Deps,
  done: (what: string, damages: readonly Damage[], total: number) => void,
): Promise<void> {
  const one = async <T>(what: string, act: (damages: Damages) => Promise<T>): Promise<T> => {
    const damages = new Damages();
    const result = await act(damages);
    done(what, damages.list, damages.total);
    return result;
  };
  const names = platformStreamNames();
  for (const name of names) {
    if (PASSING.includes(name) || name === streams.platform) continue;
    await one(name, (damages) => readWhole(deps.store, name, damages));
  }
  const histories = await one(streams.platform, async (damages) => {
    await readWhole(deps.store, streams.platform, damages);
    const found = await verifyHistories(deps, damages);
    await verifyLive(deps.store, found, damages);
    return found;
  });
  for (const [orb, history] of histories) {
    if (history.isThere) await one(streams.orb(orb), (damages) => verifyOrb(deps, orb, history, damages));
  }
}
