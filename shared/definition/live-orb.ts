import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";

/** Position of an orb's fencing token, see `stored/fence.ts`. */
export interface Fence {
  /** Distinguishes an orb from a deleted one with the same id. Sequence numbers start again in each stream. */
  incarnation: number;
  /** Sequence number of the fence's last message, or 0 if it was never moved. */
  seq: number;
}

/** The published definition of an orb, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Every write under this definition expects the fence at this position. */
  fence?: Fence | undefined;
}
