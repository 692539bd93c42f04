/**
 * The losses that a process has found and that no operator has decided about. A loss in the stream of an application, or
 * in that of its files, also blocks the writes of the application.
 */
import type { Deps } from "../../deps.ts";
import { orbOfFiles } from "../../store/file-subjects.ts";
import { nullIfMissing, untilWritten } from "../../store/pages.ts";
import { buckets, orbOf } from "../../store/subjects.ts";
import { type StreamLoss, stopsWrites } from "../live-orb.ts";
import { recordOf, storedDefinitions } from "./live.ts";
import { setDamaged } from "./live-record.ts";

const KEY = "losses";

export interface KnownLoss extends StreamLoss {
  stream: string;
  /** One sentence, without values of entries. */
  says: string;
}

interface LossesRecord {
  v: 1;
  losses: KnownLoss[];
}

/** Returns the application to which a loss in a stream belongs, and whose writes it blocks. */
export const orbOfLoss = ({ stream }: Pick<KnownLoss, "stream">) => orbOf(stream) ?? orbOfFiles(stream);

async function stored({ store }: Pick<Deps, "store">): Promise<{ losses: KnownLoss[]; revision: number }> {
  // The bucket itself may be missing, and is created by the next start.
  const found = await nullIfMissing(store.kvGet(buckets.platformSettings, KEY));
  return { losses: found?.json<LossesRecord>().losses ?? [], revision: found?.revision ?? 0 };
}

/** Returns all losses about which no operator has decided. */
export async function knownLosses(deps: Pick<Deps, "store">): Promise<KnownLoss[]> {
  return (await stored(deps)).losses;
}

/** Replaces the list. Writes nothing if `change` returns the same list. */
async function changeList(
  deps: Pick<Deps, "store">,
  change: (losses: KnownLoss[]) => KnownLoss[],
): Promise<void> {
  await untilWritten(async () => {
    const { losses, revision } = await stored(deps);
    const next = change(losses);
    if (next === losses) return;
    const record: LossesRecord = { v: 1, losses: next };
    await deps.store.kvPut(buckets.platformSettings, KEY, JSON.stringify(record), { expect: revision });
  });
}

/** Marks the application to which a stream belongs while a loss is known, and blocks its writes unless they may go on. */
async function markOrb(deps: Deps, stream: string): Promise<void> {
  const orb = orbOfLoss({ stream });
  if (orb === undefined) return;
  const losses = (await knownLosses(deps)).filter((one) => orbOfLoss(one) === orb);
  const loss = losses.find(stopsWrites) ?? losses[0];
  if (loss === undefined) return setDamaged(deps, orb, undefined);
  const { from, to, at, writable } = loss;
  await setDamaged(deps, orb, { from, to, at, ...(writable === true ? { writable } : {}) });
}

/** Tells all processes about a loss, and blocks the writes of the application. Can be called again at any time. */
export async function tellLoss(deps: Deps, loss: KnownLoss): Promise<void> {
  const { stream } = loss;
  await changeList(deps, (losses) => {
    const known = losses.find((one) => one.stream === stream);
    // A loss that stops writes says more than one that does not.
    if (known !== undefined && (stopsWrites(known) || !stopsWrites(loss))) return losses;
    return [...losses.filter((one) => one !== known), loss];
  });
  await markOrb(deps, stream);
}

/**
 * Forgets a loss, and allows the writes of the application again.
 * @returns false if no loss of the stream was known
 */
export async function forgetLoss(deps: Deps, stream: string): Promise<boolean> {
  let isKnown = false;
  await changeList(deps, (losses) => {
    const rest = losses.filter((loss) => loss.stream !== stream);
    isKnown = rest.length < losses.length;
    return isKnown ? rest : losses;
  });
  await markOrb(deps, stream);
  return isKnown;
}

/** Forgets all losses, after all streams were replaced by those of a backup. */
export async function forgetAllLosses(deps: Deps): Promise<void> {
  await changeList(deps, (losses) => (losses.length === 0 ? losses : []));
  for await (const { entry, deleted } of storedDefinitions(deps)) {
    if (!deleted && recordOf(entry).damaged !== undefined) await setDamaged(deps, entry.key, undefined);
  }
}
