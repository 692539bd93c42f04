/** Erases the indexes of fields that an application's new definition no longer indexes. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { WORDS } from "../model/index.ts";
import { writeRemovedRoot } from "./changes.ts";
import type { OrderedField } from "./pages.ts";

/** Returns the names of a schema's ordered indexes, and of its word index if it has one. */
export function indexesOf({ ordered, searched }: Pick<CompiledSchema, "ordered" | "searched">): string[] {
  return [...ordered.map(({ indexName }) => indexName), ...(searched.length === 0 ? [] : [WORDS])];
}

/**
 * Erases an index. First marks the index as removed in its root message. Readers that still use the earlier definition
 * see the mark, and read the entries instead of the index.
 * @param erase erases the messages of a subject before a sequence number, unless another definition has become active
 * @throws Conflict if another definition is active; nothing was changed
 */
export async function removeIndex(
  deps: Pick<Deps, "store">,
  index: OrderedField,
  fence: Fence | undefined,
  erase: (filter: string, end: number) => Promise<void>,
): Promise<void> {
  const log = subjects.orderedLog(index, index.field);
  const info = await deps.store.streamInfo(streams.orb(index.orb));
  if (info === null) return;
  const end = info.state.last_seq + 1;
  await writeRemovedRoot({ deps, index, fence }, end);
  await erase(log, end);
  await erase(subjects.orderedPages(index, index.field), end);
}
