/**
 * Objects that become entries (`"from": { "entry": "authorInfo" }`). The id of such an entry follows from the entry that
 * has the object, from the field, and from the key of the item in a list. So two publications make the same entries, and
 * a reference can be read from a revision that was stored with the object.
 */
import { isObject } from "../../kernel/json.ts";
import { KEY } from "../document/index.ts";

/** An object that becomes an entry. */
export interface SplitItem {
  /** Id of the new entry. */
  id: string;
  object: Readonly<Record<string, unknown>>;
}

/** Where an object is. */
interface SplitPlace {
  /** Id of the entry that has the object. */
  id: string;
  /** Stored name of the reference to the new entry. */
  form: string;
}

/** Returns the objects in a value that become entries. */
export function splitItems({ id, form }: SplitPlace, value: unknown): SplitItem[] {
  if (isObject(value)) return [{ id: splitId(id, form, ""), object: value }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, at) => {
    if (!isObject(item)) return [];
    const { [KEY]: key, ...object } = item;
    return [{ id: splitId(id, form, typeof key === "string" ? key : `#${at}`), object }];
  });
}

/** Characters of an id that tell when its entry was created, and of each half of the rest. */
const TIME = 9;
const HALF = 11;

/** Returns the id of the entry that an object becomes. Begins like that of the entry with the object. */
function splitId(id: string, form: string, key: string): string {
  const text = `${id}/${form}/${key}`;
  const halves = [1, 2].map((seed) => hash53(text, seed).toString(36).padStart(HALF, "0"));
  return id.slice(0, TIME).padEnd(TIME, "0") + halves.join("");
}

/** Returns 53 bits that look random, and are the same for the same text. Reads are synchronous, so no SHA-256. */
function hash53(text: string, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 0x9e3779b1);
    low = Math.imul(low ^ code, 0x5f356495);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (low >>> 11) * 2 ** 32 + (high >>> 0);
}
