/**
 * Cache of compiled documents by orb and revision. Contains only plain data, and nothing that belongs to one request
 * or connection.
 */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import { equal } from "../../kernel/json.ts";
import { type CompiledOrb, compileOrb } from "../compile.ts";
import type { OrbDocument } from "../document/document.ts";

/** Maximum number of compiled documents. */
const cache = new BoundedMap<string, CompiledOrb>(64);

/**
 * Returns the compiled form of a document. The cache also compares the document, because one process may serve
 * several brokers with different orbs of the same id.
 */
export function compiled(orbId: string, revision: number, document: OrbDocument): CompiledOrb {
  const key = `${orbId}/${revision}`;
  const known = cache.get(key);
  const same = known !== undefined && equal(known.document, document);
  const result = same ? known : compileOrb(document);
  // Set it again even if it is known, so that the least recently used one is dropped.
  cache.set(key, result);
  return result;
}
