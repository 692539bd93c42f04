/** Finds the entry that a request speaks of: by its exact address, or by its id alone. */
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { type EntryAddress, isToken, type ModuleToken, streams, subjects } from "../../store/subjects.ts";
import { type Store, type StoredMessage, StreamMissing } from "../../store/types.ts";
import { type EntrySnapshot, snapshotOf } from "./snapshot.ts";

/** The definition that a verb works with; `LiveOrb` is one. */
export interface OrbContext {
  orb: string;
  /** Revision of the definition. */
  revision: number;
  compiled: CompiledOrb;
  /** Each write that this definition decides expects the fence here. */
  fence?: Fence | undefined;
}

/** An entry's newest revision as it is stored. */
export interface LoadedEntry {
  address: EntryAddress;
  head: EntrySnapshot;
  /** Sequence of the head's message. */
  seq: number;
}

/** Where an entry of a schema lives. */
export function addressOf(schema: CompiledSchema, id: string): EntryAddress {
  return { orb: schema.orb, type: schema.subjectType, schema: schema.id, id };
}

/** The address in a log's subject, `<orb>.<type>.owner.<schema>.<id>`. */
export function addressIn(subject: string): EntryAddress {
  const [orb = "", type = "", , schema = "", id = ""] = subject.split(".");
  return { orb, type: type as ModuleToken, schema, id };
}

/** The entry whose head a message is; null when there is none or it was purged. */
export function loaded(message: StoredMessage | null | undefined): LoadedEntry | null {
  const head = snapshotOf(message);
  if (head === null || message === null || message === undefined) return null;
  return { address: addressIn(message.subject), head, seq: message.seq };
}

/**
 * Reads an entry's head; deleted ones too (`status: "DELETED"`). One request.
 * @param schema when it is known, only an entry of this schema is found
 * @returns null when there is none, or it was purged
 */
export async function loadEntry(
  deps: { store: Store },
  orb: string,
  id: string,
  schema?: CompiledSchema,
): Promise<LoadedEntry | null> {
  if (!isToken(id)) return null;
  const subject =
    schema === undefined ? subjects.anyEntryLog(orb, id) : subjects.entryLog(addressOf(schema, id));
  return loaded(await orNull(deps.store.get(streams.orb(orb), subject)));
}

/** A read of an orb's stream, where a stream that does not exist (any more, or not yet) holds nothing. */
export async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StreamMissing) return null;
    throw error;
  }
}

/** The schema of a stored entry in a definition; undefined when the definition has dropped it. */
export function schemaOf(compiled: CompiledOrb, address: EntryAddress): CompiledSchema | undefined {
  return compiled.byType.get(`${address.type}/${address.schema}`);
}

/** @throws AppError not_found when there is no such entry, or it was deleted */
export function existing(entry: LoadedEntry | null): LoadedEntry {
  if (entry === null || entry.head.status === "DELETED") throw notFound("entry");
  return entry;
}

/**
 * Records of transactions are written by `transactions.record` and by nothing else, and never changed.
 * @throws AppError conflict `append_only`
 */
export function refuseRecords(type: ModuleToken): void {
  if (type !== "transactions") return;
  throw new AppError(
    "conflict",
    "append_only",
    "Records of transactions are written by transactions.record and never changed or removed.",
  );
}
