import { type EntryAddress, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { isOrderedKey, keySubject, orderedKeyParts, parseKey, subjectOf } from "./index-keys.ts";
import { changeBody, type OrderedChange } from "./ordered-value.ts";

const FREED_SECONDS = 1;

/** Body of index messages. It must not be empty, because an empty body marks a deleted key. */
const PRESENT = "1";

export interface KeyChange {
  adds: string[];
  frees: string[];
}

export function keyChange(before: ReadonlySet<string>, after: ReadonlySet<string>): KeyChange {
  return {
    adds: [...after].filter((key) => !before.has(key)),
    frees: [...before].filter((key) => !after.has(key)),
  };
}

/**
 * Returns the messages that update the indexes for a write. The message of a new unique value expects that no other
 * entry has reserved it.
 */
export function keyMessages(
  address: EntryAddress,
  change: KeyChange,
  known?: ReadonlyMap<string, number>,
): Append[] {
  const messages: Append[] = [];
  const touched = new Set<string>();
  for (const key of change.adds) {
    if (isOrderedKey(key)) continue;
    const parsed = parseKey(key);
    const { kind, token } = parsed;
    const subject = subjectOf(address, parsed);
    if (kind === "u") {
      messages.push({ subject, data: address.id, expect: { seq: known?.get(key) ?? 0 } });
      continue;
    }
    messages.push({ subject, data: PRESENT, rollup: true });
    if (kind === "r" && !touched.has(token)) {
      touched.add(token);
      messages.push({ subject: subjects.referenceGuard(address.orb, token), data: PRESENT, rollup: true });
    }
  }
  for (const key of change.frees) {
    if (isOrderedKey(key)) continue;
    const seq = known?.get(key);
    messages.push({
      subject: keySubject(address, key),
      data: "",
      rollup: true,
      ttl: FREED_SECONDS,
      ...(seq === undefined ? {} : { expect: { seq } }),
    });
  }
  return [...messages, ...orderedMessages(address, change)];
}

/** Returns the messages that update ordered indexes, one for each changed field. */
function orderedMessages(address: EntryAddress, change: KeyChange): Append[] {
  const changes = new Map<string, OrderedChange>();
  for (const part of ["adds", "frees"] as const) {
    for (const key of change[part]) {
      if (!isOrderedKey(key)) continue;
      const { field, value } = orderedKeyParts(key);
      const known = changes.get(field) ?? { id: address.id, adds: [], drops: [] };
      changes.set(field, known);
      (part === "adds" ? known.adds : known.drops).push(value);
    }
  }
  return [...changes].map(([field, one]) => ({
    subject: subjects.orderedLog(address, field),
    data: changeBody(one),
  }));
}

/**
 * Returns messages that mark the values which an entry got after its creation. An index lists entries in the order in
 * which they got the value. The marks let a list return entries in the order of their creation.
 */
export function lateMarks(address: EntryAddress, change: KeyChange): Append[] {
  const marks = (keys: readonly string[], message: Omit<Append, "subject">): Append[] =>
    keys
      .map(parseKey)
      .filter(({ kind }) => kind !== "u" && kind !== "o")
      .map(({ field, token }) => ({ ...message, subject: subjects.late(address, field, token) }));
  return [
    ...marks(change.adds, { data: PRESENT, rollup: true }),
    ...marks(change.frees, { data: "", rollup: true, ttl: FREED_SECONDS }),
  ];
}
