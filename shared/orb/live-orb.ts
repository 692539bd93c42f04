import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document.ts";

/** A definition, ready for use. */
export interface LiveOrb {
  orb: string;
  /** Revision of the document. */
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
}
