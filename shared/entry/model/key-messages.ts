/** Messages that write and delete the index keys of an entry. */
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { keySubject, parseKey } from "./index-keys.ts";

/** Seconds after which the empty message of a deleted index key expires. */
const FREED_SECONDS = 1;

/** Body of index messages. It must not be empty, because an empty body means that the key is deleted. */
const PRESENT = "1";

/** The index keys that a write adds and deletes. */
export interface KeyChange {
  adds: string[];
  frees: string[];
}

/** Returns the keys to add and to delete. */
export function keyChange(before: ReadonlySet<string>, after: ReadonlySet<string>): KeyChange {
  return {
    adds: [...after].filter((key) => !before.has(key)),
    frees: [...before].filter((key) => !after.has(key)),
  };
}

/**
 * Returns the index messages of a change. A reservation expects that the value is free (compare-and-set).
 * @param known sequence of the reservation's last message, if it was looked up. Otherwise an added reservation
 * expects an empty subject, and a deleted one is assumed to belong to this entry.
 */
export function keyMessages(
  address: EntryAddress,
  change: KeyChange,
  known: ReadonlyMap<string, number> = new Map(),
): Append[] {
  const messages: Append[] = [];
  const touched = new Set<string>();
  for (const key of change.adds) {
    const subject = keySubject(address, key);
    const { kind, token } = parseKey(key);
    if (kind === "u") {
      messages.push({ subject, data: address.id, expect: { seq: known.get(key) ?? 0 } });
      continue;
    }
    messages.push({ subject, data: PRESENT, rollup: true });
    if (kind === "r" && !touched.has(token)) {
      touched.add(token);
      messages.push({ subject: subjects.referenceGuard(address.orb, token), data: PRESENT, rollup: true });
    }
  }
  for (const key of change.frees) {
    const seq = known.get(key);
    messages.push({
      subject: keySubject(address, key),
      data: "",
      rollup: true,
      ttl: FREED_SECONDS,
      ...(seq === undefined ? {} : { expect: { seq } }),
    });
  }
  return messages;
}

/**
 * Returns the marks of values that an entry gets after its creation. Index messages of a value are stored in the
 * order in which entries got the value. Lists in creation order read them in that order and use these marks to find
 * the few entries that are out of order.
 */
export function lateMarks(address: EntryAddress, change: KeyChange): Append[] {
  const marks = (keys: readonly string[], message: Omit<Append, "subject">): Append[] =>
    keys
      .map(parseKey)
      .filter(({ kind }) => kind !== "u")
      .map(({ field, token }) => ({ ...message, subject: subjects.late(address, field, token) }));
  return [
    ...marks(change.adds, { data: PRESENT, rollup: true }),
    ...marks(change.frees, { data: "", rollup: true, ttl: FREED_SECONDS }),
  ];
}
