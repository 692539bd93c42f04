import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document/document.ts";
import type { Home } from "./document/home.ts";

/** The fence of an application. The broker rejects writes that expect an outdated fence: see `stored/fence.ts`. */
export interface Fence {
  /** Distinguishes an application from an earlier, deleted one with the same id. */
  incarnation: number;
  /** Sequence number of the message that last moved the fence. 0 if the fence never moved. */
  seq: number;
}

/** The published definition of an application, ready for use. */
export interface LiveOrb {
  orb: string;
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
  /** The fence of the definition. The broker rejects a write if the stored fence has moved. */
  fence?: Fence | undefined;
  /** Schemas whose entries still wait for index keys of this definition. */
  pending?: readonly Home[] | undefined;
}
