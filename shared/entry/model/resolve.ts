import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { Fence, ProposedDefinition } from "../../definition/live-orb.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { nullIfMissing } from "../../store/pages.ts";
import {
  type EntryAddress,
  type Home,
  isToken,
  parsedHome,
  streams,
  subjects,
} from "../../store/subjects.ts";
import type { Store, StoredMessage } from "../../store/types.ts";
import { type EntrySnapshot, type StoredSnapshot, snapshotOf } from "./snapshot.ts";

export interface OrbContext {
  orb: string;
  revision: number;
  compiled: CompiledOrb;
  fence?: Fence | undefined;
  /**
   * Schemas whose older entries may not be in all indexes of this definition yet. Queries must not rely on these
   * indexes.
   */
  pending?: readonly Home[] | undefined;
  /** Set if a change set proposes this definition. */
  proposed?: ProposedDefinition<OrbContext> | undefined;
}

/** An entry's newest revision as it is stored, and where. */
export interface StoredEntry {
  address: EntryAddress;
  head: StoredSnapshot;
  seq: number;
}

/** An entry's newest revision with the names of a definition, and where it is stored. */
export interface LoadedEntry extends Omit<StoredEntry, "head"> {
  head: EntrySnapshot;
}

export function addressOf(schema: CompiledSchema, id: string): EntryAddress {
  return { orb: schema.orb, ...schema.home, id };
}

/**
 * Parses an entry's address from the subject of its log, `<orb>.<type>.owner.<schema>.<id>`, or of its version in a
 * change set, `<orb>._change.<set>.entry.<type>.<schema>.<id>`.
 */
export function addressIn(subject: string): EntryAddress {
  const [orb = "", first = "", ...rest] = subject.split(".");
  const [type = "", schema = "", id = ""] = first === "_change" ? rest.slice(2) : [first, ...rest.slice(1)];
  return { orb, ...parsedHome(type, schema), id };
}

/** Parses the newest revision from a message. Returns null if there is no message or the entry was purged. */
export function parseEntry(message: StoredMessage | null | undefined): StoredEntry | null {
  const head = snapshotOf(message);
  if (head === null || message === null || message === undefined) return null;
  return { address: addressIn(message.subject), head, seq: message.seq };
}

/** Reads an entry's newest revision, even if the entry is deleted. Returns null if there is none. */
export async function loadEntry(
  deps: { store: Store },
  orb: string,
  id: string,
  schema?: CompiledSchema,
): Promise<StoredEntry | null> {
  return parseEntry(await loadHead(deps, orb, id, schema));
}

/** Reads the message with an entry's newest revision. Returns null if there is none. */
export async function loadHead(
  deps: { store: Store },
  orb: string,
  id: string,
  schema?: CompiledSchema,
): Promise<StoredMessage | null> {
  if (!isToken(id)) return null;
  const subject =
    schema === undefined ? subjects.anyEntryLog(orb, id) : subjects.entryLog(addressOf(schema, id));
  return nullIfMissing(deps.store.get(streams.orb(orb), subject));
}

export function schemaOf(compiled: CompiledOrb, home: Home): CompiledSchema | undefined {
  return compiled.byHome.get(homeKey(home));
}

export function existing<T extends StoredEntry | LoadedEntry>(entry: T | null): T {
  if (entry === null || entry.head.status === "DELETED") throw notFound("entry");
  return entry;
}

/** Throws if the entries are records of transactions, because these cannot be changed. */
export function refuseRecords(type: Home["type"]): void {
  if (type !== "transactions") return;
  throw new AppError(
    "conflict",
    "append_only",
    "Transaction records cannot be changed or removed. Create new ones with transactions.record.",
  );
}
