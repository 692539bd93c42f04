import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";
import type { Home } from "./document/home.ts";

/** Fencing token of an orb (application). The broker rejects writes with an outdated token: see `stored/fence.ts`. */
export interface Fence {
  /** Distinguishes an orb from an earlier, deleted one with the same id. */
  incarnation: number;
  /** Sequence number of the message that last changed the fencing token. 0 if it never changed. */
  seq: number;
}

/** The published definition of an orb, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** Fencing token of the definition. The broker rejects writes if the stored token has changed. */
  fence?: Fence | undefined;
  /** Schemas whose entries still wait for index keys of this definition. */
  pending?: readonly Home[] | undefined;
}
