import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";
import type { Home } from "./document/home.ts";

/**
 * The fence of an application: a marker in its stream that moves whenever a definition is published. The broker
 * rejects a write that was decided before the last move, because its definition is outdated. See `stored/fence.ts`.
 */
export interface Fence {
  /** Tells an application apart from an earlier, deleted application with the same id. */
  incarnation: number;
  /** Sequence of the last message that changed the fence. 0 if no message has changed it yet. */
  seq: number;
}

/** The published definition of an application, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /**
   * Position of the fence (see {@link Fence}) when the definition was published. The broker rejects a write if the
   * fence has moved since.
   */
  fence?: Fence | undefined;
  /** Schemas whose entries do not have all index keys of this definition yet. */
  pending?: readonly Home[] | undefined;
}
