/**
 * A write is decided by one definition, and another one may come into force before it is committed. What publishing an
 * orb does to stored entries waits for such writes, but not for ever; so whoever can do so for nothing, because he is told
 * of definitions anyway, looks again after a write, and lets the entry follow.
 */
import type { Deps } from "../deps.ts";
import { definitionFor } from "../orb/live.ts";
import { ReadBudget } from "../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../store/subjects.ts";
import { claimLacking, keysOf, lacksOf, warnOfShared } from "./claiming.ts";
import { moveEntries } from "./move.ts";
import { inParts } from "./parts.ts";
import { type LoadedEntry, loaded, type OrbContext, orNull, schemaOf } from "./resolve.ts";

/**
 * Lets entries that were just committed follow a newer definition, if there is one by now, after the answer. Does nothing
 * where definitions have to be asked for: in workerd one more turn would cost a third of a whole create.
 * @param by the definition that the writes were decided by
 */
export function followNewer(deps: Deps, by: OrbContext, addresses: readonly EntryAddress[]): void {
  if (deps.store.remembers === true) deps.afterwards(follow(deps, by, addresses));
}

async function follow(deps: Deps, by: OrbContext, addresses: readonly EntryAddress[]): Promise<void> {
  // A host that was told of the write was told of the definition before: its publisher went on after its echo.
  const now = await definitionFor(deps, by.orb, "told");
  if (now === null || now.revision <= by.revision) return;
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const read = (logs: readonly string[], maxBytes: number) =>
    orNull(store.getMany(streams.orb(by.orb), logs, { maxBytes }));
  for await (const { result } of inParts(budget, addresses.map(subjects.entryLog), read)) {
    const bySchema = Map.groupBy(
      [...(result?.values() ?? [])].map(loaded).filter((entry) => entry !== null),
      ({ address }) => `${address.type}/${address.schema}`,
    );
    for (const entries of bySchema.values()) await followSchema(deps, by, now, entries);
  }
}

/** @param entries of one schema */
async function followSchema(
  deps: Deps,
  by: OrbContext,
  now: OrbContext,
  entries: readonly LoadedEntry[],
): Promise<void> {
  const [first] = entries;
  if (first === undefined) return;
  const before = schemaOf(by.compiled, first.address);
  const schema = schemaOf(now.compiled, first.address);
  if (before !== undefined && before.liveRole !== schema?.liveRole)
    await moveEntries(deps, entries, before.liveRole, schema?.liveRole ?? null);
  if (schema === undefined) return;
  const lacks = await Promise.all(
    entries
      .filter(({ head }) => head.status !== "DELETED")
      .map(async (entry) => lacksOf(entry, await keysOf(deps, now, schema, entry))),
  );
  const { shared } = await claimLacking(deps, now, schema, lacks.flat());
  if (shared.size > 0) warnOfShared(deps, schema);
}
