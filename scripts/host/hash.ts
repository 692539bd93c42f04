import { randomInt } from "node:crypto";

/** A random seed per process, so that clients cannot choose keys that collide. */
const BEGIN = randomInt(2 ** 32);

/** A 32-bit hash of a text (FNV-1a). Collisions are possible, so compare the texts if it matters. */
export function hashOf(text: string): number {
  let hash = BEGIN;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
