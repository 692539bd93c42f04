import type { OrbContext } from "../../entry/model/index.ts";

/** The application of a request on change sets. */
export interface InOrb {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  /** After a conflict, reads the definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
}

/** One change set. */
export interface OfSet extends InOrb {
  set: string;
  /** Number of the newest revision that the caller knows. */
  ifMatch?: number | undefined;
}
