/** Stores the counts of an application's requests, one message for each hour, and reads them. */
import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { exists, liveRecord, orbHead } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { notFound } from "../kernel/errors.ts";
import { inParallel } from "../kernel/parallel.ts";
import { indexBytes, SMALL_BYTES } from "../store/budget.ts";
import { fileStream } from "../store/file-subjects.ts";
import { nullIfMissing, pagesOf, untilWritten } from "../store/pages.ts";
import { lastToken, streams, subjects } from "../store/subjects.ts";
import { StreamMissing } from "../store/types.ts";
import { Counts, HOUR_MS, type StoredCounts, type StoredSize, type Usage } from "./counts.ts";
import { type Gathered, putBack, takeCounts } from "./gather.ts";

/** Applications whose counts are stored at the same time. */
const AT_ONCE = 4;

/** Returns the incarnation of an application, or undefined if none has the id. */
async function incarnationOf(deps: Pick<Deps, "store">, orb: string): Promise<number | undefined> {
  const live = await liveRecord(deps, orb);
  return live === null ? undefined : (live.record.fence?.incarnation ?? 0);
}

/** Adds the counts of this process to those of others. */
async function storeHour(deps: Deps, { orb, hour, counts }: Gathered): Promise<void> {
  const incarnation = await incarnationOf(deps, orb);
  if (incarnation === undefined) return;
  const subject = subjects.usage(orb, incarnation, hour);
  await untilWritten(async () => {
    const message = await deps.store.get(streams.usage, subject);
    const sum = new Counts();
    if (message !== null) sum.add(message.json<StoredCounts>());
    sum.add(counts.stored());
    const data = JSON.stringify(sum.stored());
    await deps.store.append(streams.usage, { subject, data, expect: { seq: message?.seq ?? 0 } });
  });
}

/**
 * Stores what this process has counted. Call this after a response was sent. Counts that cannot be stored stay in memory.
 * @param orb stores only the counts of this application
 */
export async function storeUsage(deps: Deps, orb?: string): Promise<void> {
  if (deps.readOnly === true) return;
  const taken = takeCounts(deps.config, orb);
  await inParallel(
    taken,
    async (one) => {
      try {
        await storeHour(deps, one);
      } catch (error) {
        // The stream is missing if an earlier version of the platform set up the broker.
        if (error instanceof StreamMissing) return;
        putBack(deps.config, one, deps.clock.now());
        deps.log.debug("the counts of requests were not stored", { orb: one.orb, error: String(error) });
      }
    },
    AT_ONCE,
  );
}

async function countMessages({ store }: Deps, stream: string, filter: string): Promise<number> {
  const page = await nullIfMissing(
    store.scan(stream, filter, { fromSeq: 1, limit: 1, maxBytes: indexBytes(1), roughly: true }),
  );
  return page === null ? 0 : page.messages.length + page.pending;
}

async function sizeOf(deps: Deps, orb: string): Promise<StoredSize> {
  const stream = streams.orb(orb);
  const { orbBytes, orbFileBytes } = deps.config.quotas;
  const [info, files, entries, revisions] = await Promise.all([
    deps.store.streamInfo(stream),
    deps.store.streamInfo(fileStream(orb)),
    countMessages(deps, stream, subjects.orbIndex(orb)),
    countMessages(deps, stream, subjects.allLogs(orb)),
  ]);
  return {
    entries,
    revisions,
    bytes: info?.state.bytes ?? 0,
    fileBytes: files?.state.bytes ?? 0,
    bytesLimit: orbBytes === 0 ? null : orbBytes,
    fileBytesLimit: orbFileBytes === 0 ? null : orbFileBytes,
  };
}

/** Hours per read. */
const PAGE = 50;

/**
 * Returns the requests of an application in the last hours, the errors among them, lists without an index, and the size
 * of what it stores. For platform admins. Requests that other processes have counted within the last half minute may be
 * missing.
 * @throws AppError orb_not_found
 */
export async function readUsage(
  deps: Deps,
  actor: Actor,
  { orb, hours }: { orb: string; hours: number },
): Promise<Usage> {
  requireOperator(actor, "orbs.read", orb);
  const [head, incarnation] = await Promise.all([
    orbHead(deps, orb),
    incarnationOf(deps, orb),
    storeUsage(deps, orb),
  ]);
  if (!exists(head)) throw notFound("orb");
  const first = Math.floor(deps.clock.now() / HOUR_MS) - hours + 1;
  const filter = subjects.usageOf(orb, incarnation ?? 0);
  const found = new Map<number, StoredCounts>();
  const read = async () => {
    const pages = pagesOf(deps.store, streams.usage, filter, { limit: PAGE, maxBytes: SMALL_BYTES });
    for await (const messages of pages)
      for (const message of messages) {
        const hour = Number(lastToken(message.subject));
        // An hour that was stored again while the pages were read has a later message.
        if (hour >= first) found.set(hour, message.json<StoredCounts>());
      }
  };
  const [storage] = await Promise.all([sizeOf(deps, orb), read()]);
  const sum = new Counts();
  for (const counts of found.values()) sum.add(counts);
  const { v: _, ...counts } = sum.stored();
  const begin = (hour: number) => new Date(hour * HOUR_MS).toISOString();
  const each = [...found].sort(([one], [other]) => one - other);
  return {
    since: begin(first),
    ...counts,
    hours: each.map(([hour, { requests, failed }]) => ({ at: begin(hour), requests, failed })),
    storage,
  };
}
