/**
 * Compiled documents, kept by orb and revision. Pure values only: nothing here belongs to a request or a connection.
 */
import { type CompiledOrb, compileOrb } from "./compile.ts";
import type { OrbDocument } from "./document.ts";

/** How many compiled documents are kept. */
const SIZE = 64;

const cache = new Map<string, CompiledOrb>();

/**
 * The compiled form of a document. The document itself is compared too: one process may serve several brokers, where
 * one id and revision mean different documents.
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

/** Whether two JSON values are the same, whatever the order of their members. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => Reflect.get(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => Reflect.get(b, key) !== undefined);
  if (keys.length !== others.length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(Reflect.get(a, key), Reflect.get(b, key)));
}
