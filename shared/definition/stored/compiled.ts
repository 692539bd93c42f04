import { BoundedMap } from "../../kernel/bounded-map.ts";
import { equal } from "../../kernel/json.ts";
import { type CompiledOrb, compileOrb } from "../compile.ts";
import type { OrbDocument } from "../document/document.ts";

const cache = new BoundedMap<string, CompiledOrb>(64);

/**
 * Returns a compiled document from a cache. Compares the whole document, because one process may serve several brokers,
 * on which the same id and revision can belong to different documents.
 */
export function compiled(orbId: string, revision: number, document: OrbDocument): CompiledOrb {
  const key = `${orbId}/${revision}`;
  const known = cache.get(key);
  const same = known !== undefined && equal(known.document, document);
  const result = same ? known : compileOrb(document);
  // Set the key again to mark it as recently used.
  cache.set(key, result);
  return result;
}
