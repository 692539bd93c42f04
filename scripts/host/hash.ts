import { randomInt } from "node:crypto";

/** Random start value of the hash. Clients that do not know it cannot choose keys that collide. */
const BEGIN = randomInt(2 ** 32);

/** Returns a 32-bit hash of a string (FNV-1a). Two strings may have the same hash. */
export function hashOf(text: string): number {
  let hash = BEGIN;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
