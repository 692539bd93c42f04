/** The pending version of an entry in a change set: the revision as the publication of the set is to make it. */
import type { CompiledOrb } from "../../definition/compile.ts";
import {
  addressIn,
  type EntrySnapshot,
  type StoredSnapshot,
  schemaOf,
  snapshotOf,
  withNames,
} from "../../entry/model/index.ts";
import type { EntryAddress } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import type { VersionAct } from "./content.ts";

/** The revision of an entry from which its pending version was made. */
export interface Base {
  revision: number;
  /** Sequence number of the revision's message. */
  seq: number;
  /** Whether the revision was live at that time. */
  live: boolean;
}

export interface Pending {
  act: VersionAct;
  /** Null for an entry that the set creates. */
  base: Base | null;
  /** Whether to archive or delete the entry even if others refer to it. */
  force?: true;
  /** Set if the set also changes values, although it does not publish the entry. */
  edited?: true;
  /** Index keys of the slugs that the platform chose. The publication chooses again if another entry has them. */
  made?: readonly string[];
}

export type StoredVersion = StoredSnapshot & { pending: Pending };

export interface Version extends Pending {
  address: EntryAddress;
  /** The entry as it will be. */
  head: EntrySnapshot;
  seq: number;
}

/** Parses a pending version. Returns null if the message says that the entry was taken out of the set. */
export function versionIn(compiled: CompiledOrb, message: StoredMessage | null | undefined): Version | null {
  const stored = snapshotOf(message) as StoredVersion | null;
  if (stored === null || message === null || message === undefined) return null;
  const address = addressIn(message.subject);
  const { pending, ...snapshot } = withNames(schemaOf(compiled, address), stored);
  return { ...pending, address, head: snapshot, seq: message.seq };
}
