/** Writes the entries of an import in batches. Entries keep their ids, revision numbers and authors. */

import type { CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/index.ts";
import { ImportMark, type OrbHead } from "../../definition/stored/index.ts";
import { type Values, validateValues } from "../../definition/validate.ts";
import { KEY } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { publishMessages } from "../../entry/index/index.ts";
import {
  addressOf,
  type EntrySnapshot,
  type EntryWrite,
  holdsSealed,
  indexKeysOf,
  isSealed,
  messagesOf,
  type OrbContext,
  sealValues,
  withKnownFields,
  withStoredNames,
} from "../../entry/model/index.ts";
import type { FileRecord } from "../../files/record.ts";
import { idsIn, importedFiles, importMessages, withFiles } from "../../files/transfer.ts";
import { AppError, invalid } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { ownHints } from "../../modules/transactions/index.ts";
import { createOrbStream } from "../../store/broker/index.ts";
import { subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import type { ExportedEntry } from "./export.ts";

export interface ImportedEntry {
  /** JSON Pointer to the entry's line in the file, for error messages. */
  path: string;
  head: ExportedEntry;
  published: ExportedEntry | null;
}

/** Maximum messages and bytes of one batch. */
const GROUP = { messages: 600, bytes: 4 * 1024 * 1024 };

interface Planned {
  path: string;
  /** The first revision to write: the published one if it is older than the newest, otherwise the newest. */
  first: EntryWrite;
  /** The newest revision, if the published one is older. */
  head: EntrySnapshot | null;
  messages: Append[];
}

/**
 * Writes entries into an application that has none yet.
 * @param authority authenticates the caller again before each batch
 * @throws Conflict, StreamMissing if another request cancelled the import
 */
export async function importEntries(
  deps: Deps,
  context: OrbContext,
  begun: OrbHead,
  entries: AsyncIterable<ImportedEntry>,
  authority?: () => Promise<unknown>,
): Promise<number> {
  await createOrbStream(deps, context.orb);
  const mark = await ImportMark.set(deps, context.orb, begun);
  let count = 0;
  let group: Planned[] = [];
  let size = { messages: 0, bytes: 0 };
  const flush = async () => {
    if (group.length > 0) {
      await authority?.();
      await writeGroup(mark, group);
    }
    group = [];
    size = { messages: 0, bytes: 0 };
  };
  for await (const entry of entries) {
    // An earlier entry of this batch may use the same file. Each entry changes the file's record, and a batch can do so
    // only once. So write the earlier entries first.
    if (hasFiles(context, entry)) await flush();
    const planned = await plan(deps, context, entry);
    const bytes = planned.messages.reduce((sum, message) => sum + message.data.length, 0);
    if (size.messages + planned.messages.length > GROUP.messages || size.bytes + bytes > GROUP.bytes)
      await flush();
    group.push(planned);
    size = { messages: size.messages + planned.messages.length, bytes: size.bytes + bytes };
    count++;
  }
  await flush();
  await mark.erase();
  return count;
}

function schemaFor(context: OrbContext, { path, head }: ImportedEntry): CompiledSchema {
  const schema = context.compiled.schemaNamed(head.module, head.schema);
  if (schema !== undefined) return schema;
  const message = `must be a schema of the orb's document (${head.module}/${head.schema} is not)`;
  throw invalid([{ path: `${path}/head/schema`, code: "unknown_schema", message }]);
}

function hasFiles(context: OrbContext, entry: ImportedEntry): boolean {
  const { head, published } = entry;
  return idsIn(schemaFor(context, entry), [head.values, published?.values ?? {}]).length > 0;
}

async function plan(deps: Deps, context: OrbContext, entry: ImportedEntry): Promise<Planned> {
  const { path, head, published } = entry;
  const schema = schemaFor(context, entry);
  const given = [head.values, ...(published === null ? [] : [published.values])];
  const files = await importedFiles(deps, context.orb, schema, given);
  const address = addressOf(schema, head.id);
  const now = deps.clock.now();
  const newest = await restored(deps, context, { schema, files }, head, `${path}/head`);
  const live =
    published === null
      ? null
      : await restored(deps, context, { schema, files }, published, `${path}/published`);
  const shown = live ?? (newest.publishedRevision === null ? null : newest);
  const open = shown !== null && (shown.liveTo === null || Date.parse(shown.liveTo) > now);
  // After its `validTo`, a published revision owns no unique values, because other entries may have taken them.
  const liveClaims = open ? (live?.claims ?? []) : [];
  const claims = new Set([...newest.claims, ...liveClaims]);
  const first: EntryWrite = {
    address,
    schema,
    headSeq: 0,
    snapshots: [live ?? newest],
    claims: { adds: [...claims], frees: [] },
    hints: ownHints(address, newest.createdBy),
    live: open ? publishMessages(address, schema.liveRole, withStoredNames(schema, shown), null, now) : [],
    index: "add",
  };
  return {
    path,
    first,
    head: live === null ? null : { ...newest, liveClaims },
    messages: [...messagesOf(first), ...importMessages(context.orb, schema.home, head.id, files)],
  };
}

/** Encrypts an entry's sensitive values with the keys of this platform, and computes its index keys. */
async function restored(
  deps: Deps,
  context: OrbContext,
  { schema, files }: { schema: CompiledSchema; files: readonly FileRecord[] },
  snapshot: ExportedEntry,
  path: string,
): Promise<EntrySnapshot> {
  const given = withKnownFields(schema, snapshot.values);
  const checked = validateValues(schema, given, {
    existing: snapshot.values as Values,
    base: `${path}/values`,
  });
  // Keep values that break the current definition's rules, because an earlier definition may have allowed them.
  const values = (checked.faults.length === 0 ? ofGiven(checked.values, given) : given) as Values;
  try {
    const { stored, plain } = await sealValues(deps.config, schema, snapshot.id, values, snapshot.values);
    const all = withSealed(stored, snapshot.values) as Values;
    const unknown = Object.entries(snapshot.values).filter(([name]) => !schema.fields.has(name));
    return {
      ...snapshot,
      schema: schema.id,
      publishedSeq: null,
      claims: await indexKeysOf(deps.config, schema, plain),
      liveClaims: null,
      defRevision: context.revision,
      values: { ...Object.fromEntries(unknown), ...withFiles(context.orb, schema, all, files) },
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "sealed_value_lost") throw error;
    const message =
      "was encrypted with a key that this platform does not have, or for an orb, entry or field with another name. Add the key to ENCRYPTION_KEYS or keep the names.";
    throw invalid([{ path: `${path}/values/${error.data?.field}`, code: "sealed_value_lost", message }]);
  }
}

/**
 * Removes default values that validation has added, so that the import stores only the values in the file. Items of lists
 * need keys, so the keys that validation has made stay.
 */
function ofGiven(value: unknown, given: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, at) => ofGiven(item, memberOf(given, String(at))));
  if (!isObject(value) || !isObject(given)) return value;
  const left = Object.entries(value).filter(([name]) => name === KEY || Object.hasOwn(given, name));
  return Object.fromEntries(left.map(([name, one]) => [name, ofGiven(one, given[name])]));
}

/** Puts encrypted texts back where a mask still stands for them: in members that the definition no longer has. */
function withSealed(value: unknown, original: unknown): unknown {
  if (value === MASK && isSealed(original)) return original;
  if (!holdsSealed(original) || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, at) => withSealed(item, memberOf(original, String(at))));
  const members = Object.entries(value).map(([name, one]) => [
    name,
    withSealed(one, memberOf(original, name)),
  ]);
  return Object.fromEntries(members);
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;

async function writeGroup(mark: ImportMark, group: readonly Planned[]): Promise<void> {
  // The broker rejects a batch that writes the same subject twice. Several entries may refer to the same entry, so
  // remove duplicates.
  const messages = distinct(group.flatMap((one) => one.messages));
  let sequences: number[];
  try {
    sequences = await mark.write(messages);
  } catch (error) {
    if (!(error instanceof Conflict) || !(await mark.holds())) throw error;
    throw new AppError(
      "conflict",
      "unique_conflict",
      `Entries between ${group[0]?.path} and ${group.at(-1)?.path} share an id or a unique value with other entries. Remove the duplicates from the file.`,
    );
  }
  const places = new Map(messages.map(({ subject }, index) => [subject, sequences[index]]));
  const heads = group.flatMap(({ head, first }): Append[] => {
    const log = subjects.entryLog(first.address);
    const seq = places.get(log) ?? 0;
    return head === null
      ? []
      : [{ subject: log, data: JSON.stringify({ ...head, publishedSeq: seq }), expect: { seq } }];
  });
  await mark.write(heads);
}

/**
 * Removes duplicates of messages that overwrite their subject's earlier messages, because one batch can write such a
 * subject only once.
 */
function distinct(messages: readonly Append[]): Append[] {
  const touched = new Set<string>();
  return messages.filter(({ subject, expect, rollup }) => {
    if (expect !== undefined || rollup !== true) return true;
    if (touched.has(subject)) return false;
    touched.add(subject);
    return true;
  });
}
