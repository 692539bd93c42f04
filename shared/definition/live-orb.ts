import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";
import type { Home } from "./document/home.ts";

/**
 * The fence of an application: a marker in its stream that each publication of a definition moves. The broker rejects
 * writes that expect it elsewhere, because an outdated definition decided them. See `stored/fence.ts`.
 */
export interface Fence {
  /** Distinguishes an application from an earlier, deleted one with the same id. */
  incarnation: number;
  /** Sequence of the message that last moved the marker. 0 if nothing has moved it yet. */
  seq: number;
}

/** The published definition of an application, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** The fence when the definition was published. The broker rejects a write if the stored fence has moved since. */
  fence?: Fence | undefined;
  /** Schemas whose entries still wait for index keys of this definition. */
  pending?: readonly Home[] | undefined;
}
