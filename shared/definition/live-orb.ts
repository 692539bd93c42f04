import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";
import type { Home } from "./document/home.ts";

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
}
