/** Releases the files of new entries that leave a change set before it is published. */
import type { Deps } from "../../deps.ts";
import { type OrbContext, schemaOf } from "../../entry/model/index.ts";
import { releaseFiles } from "../../files/release.ts";
import { nullIfMissing, untilWritten } from "../../store/pages.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { findProposal, proposedContext } from "../definition/index.ts";
import { addressOfItem, readContent } from "./content.ts";

/** Makes the files of entries unused uploads again, unless the orb itself has the entry or its history. */
export async function releaseNew(
  deps: Deps,
  { orb, compiled }: OrbContext,
  addresses: readonly EntryAddress[],
): Promise<void> {
  for (const address of addresses) {
    const hasFiles = (schemaOf(compiled, address)?.files.length ?? 0) > 0;
    if (!hasFiles) continue;
    const log = await nullIfMissing(deps.store.get(streams.orb(orb), subjects.entryLog(address)));
    if (log === null) await untilWritten(() => releaseFiles(deps, orb, address.id, true));
  }
}

/** Releases the files of all new entries of a set that was closed. */
export async function releaseClosed(deps: Deps, live: OrbContext, set: string): Promise<void> {
  const [{ content }, read] = await Promise.all([
    readContent(deps, live.orb, set),
    findProposal(deps, live.orb, set),
  ]);
  const context = read === null ? live : proposedContext(live, `${set}/${read.seq}`, read.proposal);
  const created = content.items.filter(({ creates }) => creates === true);
  await releaseNew(
    deps,
    context,
    created.map((item) => addressOfItem(context.orb, item)),
  );
}
