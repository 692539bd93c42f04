/**
 * Cache of compiled documents by orb and revision. Contains only plain data, nothing that belongs to a request or
 * connection.
 */
import { equal } from "../../kernel/json.ts";
import { type CompiledOrb, compileOrb } from "../compile.ts";
import type { OrbDocument } from "../document/document.ts";

/** Maximum number of compiled documents. */
const SIZE = 64;

const cache = new Map<string, CompiledOrb>();

/**
 * The compiled form of a document. Also compares the document itself, because one process may serve several brokers
 * with different orbs of the same id.
 */
export function compiled(orbId: string, revision: number, document: OrbDocument): CompiledOrb {
  const key = `${orbId}/${revision}`;
  const known = cache.get(key);
  if (known !== undefined) {
    cache.delete(key);
    if (equal(known.document, document)) {
      cache.set(key, known); // the newest last, so that the first one is the one to drop
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
