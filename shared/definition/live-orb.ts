import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";

/**
 * The position of an orb's fence. Definitions stored by versions without fences have none and count as unfenced.
 */
export interface Fence {
  /** Distinguishes the orb from earlier orbs of its id, because sequences start again in each stream. */
  incarnation: number;
  /** Sequence of its last part; the others come right before it. 0 if it was never moved. */
  seq: number;
}

/** A compiled live definition. */
export interface LiveOrb {
  orb: string;
  /** Revision of the document. */
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Position of the fence. Each write that this definition decides expects it. */
  fence?: Fence | undefined;
}
