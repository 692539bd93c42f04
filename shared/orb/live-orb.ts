import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document.ts";
import type { Fence } from "./fence.ts";

/** A definition, ready for use. */
export interface LiveOrb {
  orb: string;
  /** Revision of the document. */
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Position of the fence. Each write that this definition decides expects it. */
  fence?: Fence | undefined;
}
