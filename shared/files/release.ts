/** Releases the files of an entry before its history is erased. */
import type { Deps } from "../deps.ts";
import { nullIfMissing } from "../entry/model/resolve.ts";
import { READ_BYTES } from "../store/budget.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { scanPages } from "../store/pages.ts";
import { streams } from "../store/subjects.ts";
import type { Append, StoredMessage } from "../store/types.ts";
import { type FileRecord, readRecord, recordMessages } from "./record.ts";

/** Maximum files per batch. Each takes up to four messages. */
const FILES_PER_BATCH = 200;
const GONE_SECONDS = 1;

/**
 * Removes an entry from the records of its files. A file that belongs to no other entry becomes unreadable at once,
 * also for its uploader and for holders of signed links. Its content is removed later (see `sweep.ts`).
 * @throws Conflict if another entry starts to refer to one of the files at the same time
 */
export async function releaseFiles(deps: Deps, orb: string, entry: string): Promise<void> {
  const stream = streams.orb(orb);
  const read = async (fromSeq: number) =>
    (await nullIfMissing(
      deps.store.scan(stream, fileSubjects.usesBy(orb, entry), {
        fromSeq,
        limit: FILES_PER_BATCH,
        maxBytes: READ_BYTES,
      }),
    )) ?? { messages: [], pending: 0 };
  for await (const uses of scanPages(read)) {
    const released = await Promise.all(uses.map((use) => releaseMessages(deps, orb, entry, use)));
    const messages = released.flat();
    if (messages.length > 0) await deps.store.batch(stream, messages);
  }
}

async function releaseMessages(
  deps: Deps,
  orb: string,
  entry: string,
  use: StoredMessage,
): Promise<Append[]> {
  if (use.size === 0) return [];
  const id = use.subject.slice(use.subject.lastIndexOf(".") + 1);
  const gone: Append = { subject: use.subject, data: "", rollup: true, ttl: GONE_SECONDS };
  const found = await readRecord(deps, orb, id);
  if (found === null) return [gone];
  const entries = found.record.entries.filter((one) => one.id !== entry);
  const record: FileRecord = { ...found.record, entries };
  const [content, rewritten] = recordMessages(orb, record);
  const expect = { seq: found.seq };
  if (entries.length > 0) return [{ ...rewritten, expect }, gone];
  const check = {
    subject: fileSubjects.check(orb, id),
    data: JSON.stringify({ v: 1, nuid: record.object.nuid, sha256: record.sha256 }),
    rollup: true,
  };
  const erased = { data: "", ttl: GONE_SECONDS };
  return [{ ...rewritten, ...erased, expect }, gone, { ...content, ...erased }, check];
}
