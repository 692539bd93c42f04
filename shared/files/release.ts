/** Releases the files of an entry before its history is erased, or after it left a change set before it was published. */
import type { Deps } from "../deps.ts";
import { READ_BYTES } from "../store/budget.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing, pagesOf } from "../store/pages.ts";
import { lastToken, streams, subjects } from "../store/subjects.ts";
import type { Append, Expectation, StoredMessage } from "../store/types.ts";
import { type FileRecord, readRecord, recordMessages, UNUSED_SECONDS } from "./record.ts";
import { checkContent } from "./sweep.ts";

/** Maximum files per batch. Each takes up to four messages. */
const FILES_PER_BATCH = 200;
const GONE_SECONDS = 1;

/**
 * Removes an entry from the records of its files. A file that no other entry uses can no longer be read, not even by
 * its uploader or with a signed link. Its content is removed too, if nothing else uses it and it was stored more than a
 * day ago. Otherwise the sweep removes it later.
 * @param keeps whether a file that no other entry uses stays an unused upload for a day instead
 * @param given conditions of the removal
 * @throws Conflict if another entry starts to refer to one of the files at the same time
 */
export async function releaseFiles(
  deps: Deps,
  orb: string,
  entry: string,
  keeps = false,
  given: readonly Expectation[] = [],
): Promise<void> {
  const stream = streams.orb(orb);
  const page = { limit: FILES_PER_BATCH, maxBytes: READ_BYTES };
  for await (const uses of pagesOf(deps.store, stream, fileSubjects.usesBy(orb, entry), page)) {
    const released = await Promise.all(uses.map((use) => release(deps, orb, entry, use, keeps)));
    const messages = released.flatMap((one) => one.messages);
    const conditions = given.map((expect, at): Append => {
      return { subject: subjects.guard(orb, entry, at), data: "", ttl: GONE_SECONDS, expect };
    });
    if (messages.length > 0) await deps.store.batch(stream, [...conditions, ...messages]);
    const unused = released.flatMap((one) => one.unused ?? []);
    // If this removal fails, the sweep (the job that removes unused content) does it later.
    if (unused.length > 0) deps.afterwards(removeContents(deps, orb, unused));
  }
}

/** Removes the content of erased files at once, if nothing else uses it. Otherwise the sweep does it later. */
export async function removeContents(deps: Deps, orb: string, records: readonly FileRecord[]): Promise<void> {
  for (const { sha256, object } of records)
    await nullIfMissing(checkContent(deps, orb, { nuid: object.nuid, sha256 }));
}

interface Released {
  messages: Append[];
  /** The record of the file, if no other entry uses the file. */
  unused?: FileRecord;
}

async function release(
  deps: Deps,
  orb: string,
  entry: string,
  use: StoredMessage,
  keeps: boolean,
): Promise<Released> {
  if (use.size === 0) return { messages: [] };
  const id = lastToken(use.subject);
  const gone: Append = { subject: use.subject, data: "", rollup: true, ttl: GONE_SECONDS };
  const found = await readRecord(deps, orb, id);
  if (found === null) return { messages: [gone] };
  const entries = found.record.entries.filter((one) => one.id !== entry);
  const { last } = found.record;
  const [released = last] = found.record.entries.filter((one) => one.id === entry);
  const home = released === undefined ? {} : { last: { type: released.type, schema: released.schema } };
  const record: FileRecord = { ...found.record, entries, ...home };
  // A file that editors have described stays in the library.
  const isUnused = entries.length === 0 && record.asset === undefined;
  if (isUnused && !keeps)
    return { messages: [...eraseMessages(orb, record, found.seq), gone], unused: record };
  const [content, rewritten] = recordMessages(orb, record, isUnused ? UNUSED_SECONDS : undefined);
  const expected = { ...rewritten, expect: { seq: found.seq } };
  if (!isUnused) return { messages: [expected, gone] };
  return { messages: [content, expected, gone, checkMessage(orb, record)] };
}

const checkMessage = (orb: string, { id, object, sha256 }: FileRecord): Append => ({
  subject: fileSubjects.check(orb, id),
  data: JSON.stringify({ v: 1, nuid: object.nuid, sha256 }),
  rollup: true,
});

/**
 * Returns the messages that erase a file. The batch fails if the record has changed, such as by an entry that begins to
 * refer to the file. Call {@link removeContents} after it.
 */
export function eraseMessages(orb: string, record: FileRecord, seq: number): Append[] {
  const [content, described] = recordMessages(orb, record);
  const erased = { data: "", ttl: GONE_SECONDS };
  return [{ ...described, ...erased, expect: { seq } }, { ...content, ...erased }, checkMessage(orb, record)];
}
