/**
 * Cache of compiled documents by orb and revision. Contains only plain data, and nothing that belongs to one request
 * or connection.
 */
import { equal } from "../../kernel/json.ts";
import { type CompiledOrb, compileOrb } from "../compile.ts";
import type { OrbDocument } from "../document/document.ts";

/** Maximum number of compiled documents. */
const SIZE = 64;

const cache = new Map<string, CompiledOrb>();

/**
 * Returns the compiled form of a document. The cache also compares the document, because one process may serve
 * several brokers with different orbs of the same id.
 */
export function compiled(orbId: string, revision: number, document: OrbDocument): CompiledOrb {
  const key = `${orbId}/${revision}`;
  const known = cache.get(key);
  if (known !== undefined) {
    cache.delete(key);
    if (equal(known.document, document)) {
      cache.set(key, known); // reinsert: the first key of the map is the least recently used
      return known;
    }
  }
  const result = compileOrb(document);
  cache.set(key, result);
  if (cache.size > SIZE) {
    const oldest = cache.keys().next();
    if (!oldest.done) cache.delete(oldest.value);
  }
  return result;
}
