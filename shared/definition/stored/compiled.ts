import { BoundedMap } from "../../kernel/bounded-map.ts";
import { equal } from "../../kernel/json.ts";
import { type CompiledOrb, compileOrb } from "../compile.ts";
import type { OrbDocument } from "../document/index.ts";
import type { StoredNames } from "../names/index.ts";
import { requireReadable } from "./readable.ts";

const cache = new BoundedMap<string, { result: CompiledOrb; names: StoredNames | undefined }>(64);

/**
 * Compiles a stored document.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored it
 */
export function compileStored(orb: string, document: OrbDocument, names?: StoredNames): CompiledOrb {
  requireReadable(orb, document);
  return compileOrb(document, names);
}

/**
 * Returns a compiled document from a cache. Compares the whole document, because one process may serve several brokers,
 * on which the same id and revision can belong to different documents.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored the document
 */
export function compiled(
  orbId: string,
  revision: number,
  document: OrbDocument,
  names?: StoredNames,
): CompiledOrb {
  const key = `${orbId}/${revision}`;
  const known = cache.get(key);
  const same = known !== undefined && equal(known.result.document, document) && equal(known.names, names);
  const result = same ? known.result : compileStored(orbId, document, names);
  // Set the key again to mark it as recently used.
  cache.set(key, { result, names });
  return result;
}
