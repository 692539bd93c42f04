import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";

/** The position of an orb's fence. Definitions stored by versions without fences have none. */
export interface Fence {
  /** Distinguishes the orb from deleted orbs with the same id, because sequences start again in each stream. */
  incarnation: number;
  /** Sequence of the fence's last part. The other parts come right before it. 0 if it was never moved. */
  seq: number;
}

/** A compiled live definition. */
export interface LiveOrb {
  orb: string;
  /** Revision of the document. */
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Position of the fence. Every write under this definition expects it. */
  fence?: Fence | undefined;
}
