/** Completes the values of file fields before a write, and marks new files as used by the entry. */

import type { Actor } from "../access/actor.ts";
import { principalIn } from "../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../definition/compile.ts";
import type { Json } from "../definition/fields/index.ts";
import type { Values } from "../definition/validate.ts";
import { leavesOf, replaceLeaves } from "../definition/walk.ts";
import type { Deps } from "../deps.ts";
import { inBatches } from "../entry/index/index.ts";
import type { Guard, OrbContext } from "../entry/model/index.ts";
import type { Fault } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { ReadBudget, SMALL_BYTES } from "../store/budget.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing } from "../store/pages.ts";
import { isToken, streams } from "../store/subjects.ts";
import { isUploader, mayBrowseFile, mayUse } from "./access.ts";
import { textIn } from "./assets/index.ts";
import { accepts } from "./content-type.ts";
import {
  type FileRecord,
  type FileValue,
  fileValue,
  isFileValue,
  recordIn,
  recordMessages,
} from "./record.ts";

/** Maximum new files per write. Each adds three messages to the batch. */
const MAX_NEW = 200;
/**
 * Maximum entries that may refer to the same file. For more entries, a client can upload the content again. The
 * platform still stores it only once.
 */
const MAX_ENTRIES = 100;
/**
 * A caller who neither uploaded the file nor sees it in the library may refer to it only while fewer entries than this
 * refer to it. Otherwise readers of a file could use up all its references.
 */
const MAX_ENTRIES_OF_OTHERS = 50;

interface Place {
  field: CompiledField;
  id: string;
  path: string;
}

export interface Attached {
  values: Values;
  faults: Fault[];
  guards: Guard[];
}

function filesIn(value: Json): string[] {
  return [value]
    .flat()
    .flatMap((each) => (isObject(each) && typeof each.file === "string" ? [each.file] : []));
}

function placesOf(fields: readonly CompiledField[], values: Readonly<Values>): Place[] {
  return fields.flatMap((field) =>
    leavesOf(field, values).flatMap(({ value, trail }) => {
      const path = `/values/${trail.join("/")}`;
      return filesIn(value).map((id, at) => ({
        field,
        id,
        path: Array.isArray(value) ? `${path}/${at}` : path,
      }));
    }),
  );
}

export function storedFiles(fields: readonly CompiledField[], stored: Readonly<Record<string, unknown>>) {
  const known = new Map<string, FileValue>();
  for (const field of fields) {
    for (const { value } of leavesOf(field, stored as Values)) {
      for (const each of [value].flat()) if (isFileValue(each)) known.set(each.file, each);
    }
  }
  return known;
}

function faultOf({ field, path }: Place, file: Pick<FileValue, "type" | "size">): Fault | undefined {
  const { accept, maxSize } = field.definition;
  if (accept !== undefined && !accepts(accept, file.type)) {
    const message = `must be a file of type ${accept.join(", ")} (is ${file.type})`;
    return { path, code: "file_type", message };
  }
  if (maxSize !== undefined && file.size > maxSize) {
    return { path, code: "too_big", message: `must have at most ${maxSize} bytes (has ${file.size})` };
  }
  return undefined;
}

/** Replaces each value `{ file }` with the file's public properties, such as its name and size. */
function completed(value: Json, files: ReadonlyMap<string, FileValue>): Json {
  if (Array.isArray(value)) return value.map((each) => completed(each, files));
  if (!isObject(value)) return value;
  const file = typeof value.file === "string" ? files.get(value.file) : undefined;
  if (file !== undefined) return { ...file };
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, completed(each as Json, files)]),
  );
}

/** Completes the values of file fields with the files' public properties. */
export function completedIn(
  fields: readonly CompiledField[],
  values: Readonly<Values>,
  files: ReadonlyMap<string, FileValue>,
): Values {
  const leaves = fields.flatMap((field) => leavesOf(field, values));
  const all = leaves.map(({ trail, value }) => ({ trail, value: completed(value, files) }));
  return replaceLeaves(values, all) as Values;
}

interface EntryFiles {
  id: string;
  values: Readonly<Values>;
  /** Earlier values of the entry, whose files already belong to the entry. */
  stored: Readonly<Record<string, unknown>>;
  /** Whether the write publishes the values. */
  publish: boolean;
  /** Whether the entry is deleted. Its files then belong to it until a purge, which may be under way, releases them. */
  revives?: boolean | undefined;
}

/** Returns the faults of images without the alternative text that their field requires of published entries. */
async function altFaults(
  deps: Deps,
  { orb, compiled }: OrbContext,
  places: readonly Place[],
  files: ReadonlyMap<string, FileValue>,
): Promise<Fault[]> {
  const needed = places.filter(
    ({ field, id }) => field.definition.altRequired === true && files.get(id)?.type.startsWith("image/"),
  );
  const ids = [...new Set(needed.map(({ id }) => id))];
  if (ids.length === 0) return [];
  const subjectOf = (id: string) => fileSubjects.record(orb, id);
  const { defaultLanguage } = compiled;
  const lacking = new Set<string>();
  const budget = new ReadBudget();
  const read = (some: readonly string[], maxBytes: number) =>
    deps.store.getMany(streams.orb(orb), some.map(subjectOf), { maxBytes });
  for await (const { wanted, result } of inBatches(budget, ids, read)) {
    for (const id of wanted) {
      const asset = recordIn(result.get(subjectOf(id)))?.record.asset;
      if (textIn(asset?.alt, [defaultLanguage]) === null) lacking.add(id);
    }
  }
  const message = `must be an image with an alternative text in the language ${defaultLanguage}. Add the text to the file, then publish the entry.`;
  return needed.flatMap(({ id, path }) => (lacking.has(id) ? [{ path, code: "alt_required", message }] : []));
}

/**
 * Checks the files in validated values. Sends no request to the broker if the write adds no file, and publishes no
 * image whose field requires an alternative text.
 * @returns the values to store, and a condition of the write (guard) for each new file. The guard rewrites the file's
 *   record, so the write fails if the record has changed or expired.
 */
export async function attachFiles(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  entry: EntryFiles,
): Promise<Attached> {
  const fields = schema.files;
  const places = placesOf(fields, entry.values);
  if (places.length === 0) return { values: entry.values, faults: [], guards: [] };
  const { orb, compiled } = context;
  const caller = principalIn(actor, orb, compiled);
  const files = entry.revives === true ? new Map<string, FileValue>() : storedFiles(fields, entry.stored);
  const faults: Fault[] = [];
  const guards: Guard[] = [];
  const fresh = Map.groupBy(
    places.filter(({ id }) => !files.has(id)),
    ({ id }) => id,
  );
  const report = (code: string, message: string, some: readonly Place[]) => {
    for (const { path } of some) faults.push({ path, code, message });
  };
  if (fresh.size > MAX_NEW && entry.revives !== true) {
    const message = `must not bring more than ${MAX_NEW} new files in one write. Add the others with another write.`;
    report("too_many", message, places.slice(0, 1));
    return { values: entry.values, faults, guards };
  }
  const wanted = [...fresh.keys()].filter(isToken).map((id) => fileSubjects.record(orb, id));
  const found = await nullIfMissing(
    deps.store.getMany(streams.orb(orb), wanted, { maxBytes: SMALL_BYTES * 4 }),
  );
  for (const [id, some] of fresh) {
    const stored = isToken(id) ? recordIn(found?.get(fileSubjects.record(orb, id))) : null;
    const mine = stored?.record.entries.some((use) => use.id === entry.id) === true;
    if (stored === null || !(mine || (await mayUse(deps, actor, context, stored.record)))) {
      report("unknown_file", "must be the id of a file that you have uploaded. Upload it first.", some);
      continue;
    }
    files.set(id, fileValue(orb, stored.record));
    if (mine) {
      if (entry.revives === true) guards.push({ subject: fileSubjects.record(orb, id), seq: stored.seq });
      continue;
    }
    const isTrusted = isUploader(actor, stored.record) || mayBrowseFile(caller, compiled, stored.record);
    const most = isTrusted ? MAX_ENTRIES : MAX_ENTRIES_OF_OTHERS;
    if (stored.record.entries.length >= most) {
      const message = `must not be a file that ${most} entries have already. Upload the content again.`;
      report("too_many", message, some);
      continue;
    }
    const use = { ...schema.home, id: entry.id };
    const record: FileRecord = { ...stored.record, entries: [...stored.record.entries, use] };
    const [content, rewritten] = recordMessages(orb, record);
    const link = { subject: fileSubjects.use(orb, entry.id, id), data: "1", rollup: true };
    guards.push({ subject: rewritten.subject, seq: stored.seq, carriers: [rewritten, content, link] });
  }
  for (const place of places) {
    const file = files.get(place.id);
    const fault = file === undefined ? undefined : faultOf(place, file);
    if (fault !== undefined) faults.push(fault);
  }
  if (entry.publish) faults.push(...(await altFaults(deps, context, places, files)));
  return { values: completedIn(fields, entry.values, files), faults, guards };
}
