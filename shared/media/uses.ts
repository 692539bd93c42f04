/** Finds the entries that show a file. */

import type { Principal } from "../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../definition/compile.ts";
import type { Deps } from "../deps.ts";
import { inBatches } from "../entry/index/index.ts";
import {
  type EntrySnapshot,
  effective,
  type OrbContext,
  parseEntry,
  schemaOf,
  visible,
  withNames,
} from "../entry/model/index.ts";
import { fieldsWith, mayBrowseUse, publishedValues } from "../files/access.ts";
import type { FileRecord, FileUse } from "../files/record.ts";
import { ReadBudget } from "../store/budget.ts";
import { nullIfMissing } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";

/** An entry that refers to a file in at least one of its revisions. */
export interface FileUser {
  module: string;
  schema: string;
  id: string;
  status: EntrySnapshot["status"];
  /** Whether the newest revision has the file. */
  newest: boolean;
  /** Whether the revision that readers see has the file. */
  live: boolean;
}

/** An entry that refers to a file, as it is stored. */
export interface FoundUser {
  schema: CompiledSchema;
  head: EntrySnapshot;
  user: FileUser;
  /** The fields of the published revision that have the file, also if readers see it only later. */
  published: readonly CompiledField[];
}

async function userOf(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
  head: EntrySnapshot,
  file: string,
): Promise<FoundUser> {
  const isDeleted = head.status === "DELETED";
  const values = isDeleted ? undefined : await publishedValues(deps, orb, schema, head);
  const published = values === undefined ? [] : fieldsWith(schema, values, file);
  const user = {
    ...{ module: schema.module, schema: schema.id, id: head.id, status: head.status },
    newest: !isDeleted && fieldsWith(schema, head.values, file).length > 0,
    live: published.length > 0 && visible(head, deps.clock.now()),
  };
  return { schema, head, user, published };
}

/** Reads the entries that refer to a file. Leaves out those of schemas that the definition no longer has. */
export async function usersOf(
  deps: Deps,
  { orb, compiled }: OrbContext,
  record: FileRecord,
  uses: readonly FileUse[],
): Promise<FoundUser[]> {
  const budget = new ReadBudget();
  const charged = { ...deps, store: budget.charging(deps.store) };
  const subjectOf = (use: FileUse) => subjects.entryLog({ orb, ...use });
  const read = async (some: readonly FileUse[], maxBytes: number) =>
    nullIfMissing(charged.store.getMany(streams.orb(orb), some.map(subjectOf), { maxBytes }));
  const found: Promise<FoundUser>[] = [];
  for await (const { wanted, result } of inBatches(budget, uses, read)) {
    for (const use of wanted) {
      const entry = parseEntry(result?.get(subjectOf(use)));
      const schema = schemaOf(compiled, use);
      if (entry === null || schema === undefined) continue;
      const head = withNames(schema, effective(entry.head, deps.clock.now()));
      found.push(userOf(charged, orb, schema, head, record.id));
    }
    await Promise.all(found);
  }
  return Promise.all(found);
}

/** Returns the uses of a file in entries whose drafts the caller may read. */
export const seenUses = (caller: Principal, { compiled }: OrbContext, { entries }: FileRecord): FileUse[] =>
  entries.filter((use) => mayBrowseUse(caller, compiled, use));
