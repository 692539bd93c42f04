import type { CompiledOrb } from "./compile.ts";
import type { Home, OrbDocument } from "./document/index.ts";
import type { StoredNames } from "./names/index.ts";

/** What is known of a definition that a change set proposes. */
export interface ProposedDefinition<Live> {
  /** The definition that serves. */
  live: Live;
  /** The revision of the definition from which this one was made. */
  base: number;
  /** Its names in stored data. */
  names: StoredNames | undefined;
  /** Whether it gives other rights. */
  changesRights: boolean;
}

/**
 * Messages that the broker has lost from an application's stream. Until an operator decides about them, the application
 * cannot be written, unless `writable` is set.
 */
export interface StreamLoss {
  /** First and last sequence number of what is concerned. */
  from: number;
  to: number;
  /** ISO 8601 time at which the loss was found. */
  at: string;
  /** Set if all revisions are there, and only other messages are missing, such as those of an index. */
  writable?: true | undefined;
}

export function stopsWrites(loss: StreamLoss | undefined): loss is StreamLoss {
  return loss !== undefined && loss.writable !== true;
}

/** Returns the header by which each response about an application says that its stream has lost messages. */
export function lossHeaders(loss: StreamLoss | undefined): Record<string, string> {
  if (loss === undefined) return {};
  return { "orb-damaged": `from=${loss.from}, to=${loss.to}, since="${loss.at}"` };
}

/**
 * The fence of an application: a marker message in its stream that each publication of a definition replaces. A write
 * expects the marker of its own definition, so the broker rejects a write under an older definition. See
 * `stored/fence.ts`.
 */
export interface Fence {
  /** Tells an application apart from an earlier, deleted application with the same id. */
  incarnation: number;
  /** Sequence number of the last message that changed the fence. 0 if no message has changed it yet. */
  seq: number;
  /** The loss of the application's stream. Unless it is `writable`, no write can expect this fence. Never stored in a fence. */
  loss?: StreamLoss | undefined;
}

/** The published definition of an application, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /**
   * The marker (see {@link Fence}) that belongs to this definition. The broker rejects a write if a later publication
   * has replaced it.
   */
  fence?: Fence | undefined;
  /**
   * Schemas whose older entries are not yet in all indexes of this definition. Queries must not rely on these indexes.
   */
  pending?: readonly Home[] | undefined;
  /** Set if a change set proposes this definition. */
  proposed?: ProposedDefinition<LiveOrb> | undefined;
  /** For each schedule, the revision of the definition with which it was published. */
  scheduled?: Readonly<Record<string, number>> | undefined;
}
