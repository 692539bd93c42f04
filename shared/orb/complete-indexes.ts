/**
 * Erases what interrupted publications have left. Keeps the indexes of all applications complete while an older version may write too: the keys of normal forms, and the
 * live indexes, with which lists and counts of published entries need not read drafts. Readers build and compact small
 * live indexes themselves.
 */
import { system } from "../access/actor.ts";
import { definitionFor, liveRecord } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { completeLive } from "../entry/listed/index.ts";
import { streams } from "../store/subjects.ts";
import { completeForms } from "./backfill-forms.ts";
import { eraseUnfinished } from "./migrate/index.ts";
import { listOrbs } from "./read.ts";

const ORBS_PER_PAGE = 200;

/** For each application, the last sequence number of its stream when its indexes were last compared with the entries. */
export type Compared = Map<string, { created: string; seq: number }>;

/**
 * Adds the missing keys of normal forms, and builds the missing live indexes, of all applications. Compares the other
 * live indexes with the entries, and builds them again if an instance of an older version has published entries without
 * adding them.
 * @param compared what an earlier call has compared; empty to compare everything. This function updates it.
 */
export async function completeIndexes(deps: Deps, compared: Compared): Promise<void> {
  let after: number | undefined;
  do {
    const page = await listOrbs(deps, system, { limit: ORBS_PER_PAGE, after });
    for (const { id } of page.orbs.map(({ document }) => document)) {
      try {
        await completeOrb(deps, id, compared);
      } catch (error) {
        // A broken application must not keep others from getting their indexes.
        deps.log.warn("the indexes of an application are incomplete", { orb: id, error: String(error) });
      }
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
}

async function completeOrb(deps: Deps, orb: string, compared: Compared): Promise<void> {
  const info = await deps.store.streamInfo(streams.orb(orb));
  if (info === null) return;
  const { created, state } = info;
  const before = compared.get(orb);
  const isSame = before?.created === created && before.seq <= state.last_seq;
  if (isSame && before.seq === state.last_seq) return;
  const { isBusy } = await eraseUnfinished(deps, orb);
  const current = await liveRecord(deps, orb);
  if (current !== null) await completeForms(deps, current.record);
  const definition = await definitionFor(deps, orb);
  if (definition === null) return;
  await completeLive(deps, definition, definition.compiled.byHome.values(), isSame ? before.seq : 0);
  // The next look tells whether a publication was interrupted.
  if (isBusy) compared.delete(orb);
  else compared.set(orb, { created, seq: state.last_seq });
}
