import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";

/** Fencing token of an orb: see `stored/fence.ts`. */
export interface Fence {
  /** Distinguishes an orb from a deleted one with the same id. */
  incarnation: number;
  /** Sequence number of the fence's last message. 0 if it was never moved. */
  seq: number;
}

/** The published definition of an orb, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Every write must find the fence at this position. */
  fence?: Fence | undefined;
}
