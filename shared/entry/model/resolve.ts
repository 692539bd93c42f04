import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import type { Fence } from "../../definition/live-orb.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { type EntryAddress, isToken, type ModuleToken, streams, subjects } from "../../store/subjects.ts";
import { type Store, type StoredMessage, StreamMissing } from "../../store/types.ts";
import { type EntrySnapshot, snapshotOf } from "./snapshot.ts";

export interface OrbContext {
  orb: string;
  revision: number;
  compiled: CompiledOrb;
  fence?: Fence | undefined;
}

/** An entry's newest revision, and where it is stored. */
export interface LoadedEntry {
  address: EntryAddress;
  head: EntrySnapshot;
  seq: number;
}

export function addressOf(schema: CompiledSchema, id: string): EntryAddress {
  return { orb: schema.orb, type: schema.subjectType, schema: schema.id, id };
}

/** Returns the address in a log's subject, `<orb>.<type>.owner.<schema>.<id>`. */
export function addressIn(subject: string): EntryAddress {
  const [orb = "", type = "", , schema = "", id = ""] = subject.split(".");
  return { orb, type: type as ModuleToken, schema, id };
}

/** Returns the entry that a message of its log holds, or null if the entry was purged. */
export function parseEntry(message: StoredMessage | null | undefined): LoadedEntry | null {
  const head = snapshotOf(message);
  if (head === null || message === null || message === undefined) return null;
  return { address: addressIn(message.subject), head, seq: message.seq };
}

/** Reads an entry's newest revision, also of deleted entries. Returns null if there is none. */
export async function loadEntry(
  deps: { store: Store },
  orb: string,
  id: string,
  schema?: CompiledSchema,
): Promise<LoadedEntry | null> {
  if (!isToken(id)) return null;
  const subject =
    schema === undefined ? subjects.anyEntryLog(orb, id) : subjects.entryLog(addressOf(schema, id));
  return parseEntry(await nullIfMissing(deps.store.get(streams.orb(orb), subject)));
}

/** Returns the result of a read, or null if the orb's stream does not exist. */
export async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StreamMissing) return null;
    throw error;
  }
}

export function schemaOf(compiled: CompiledOrb, address: EntryAddress): CompiledSchema | undefined {
  return compiled.byType.get(`${address.type}/${address.schema}`);
}

export function existing(entry: LoadedEntry | null): LoadedEntry {
  if (entry === null || entry.head.status === "DELETED") throw notFound("entry");
  return entry;
}

/** Rejects changes to transaction records, which are append-only. */
export function refuseRecords(type: ModuleToken): void {
  if (type !== "transactions") return;
  throw new AppError(
    "conflict",
    "append_only",
    "Transaction records cannot be changed or removed. Create new ones with transactions.record.",
  );
}
