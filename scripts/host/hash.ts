import { randomInt } from "node:crypto";

/** Another one in each process, so that nobody can choose texts that all fall on one place. */
const BEGIN = randomInt(2 ** 32);

/** 32 bits of a text (FNV-1a), for tables that look at the text itself where it matters. */
export function hashOf(text: string): number {
  let hash = BEGIN;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
