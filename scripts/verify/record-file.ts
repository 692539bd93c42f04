/**
 * The record of a stream: a file outside the broker that lists the messages which the stream must never lose. Each has
 * 16 bytes: its sequence number (6), a hash of the id in its subject (6), and a hash of its body (4). A signed mark
 * beside it says how much of the file counts, and chains the hashes of all that was added.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { StoredMessage } from "../../shared/store/types.ts";
import { sign, verify } from "../backup/signature.ts";
import { recordFolder, writePrivate } from "../config/data-dir.ts";
import { makeFolder } from "../config/folders.ts";

const RECORD_BYTES = 16;
const CHUNK = RECORD_BYTES * 4096;

export interface Recorded {
  seq: number;
  /** Hash of the last part of the subject, which is the id of an entry or of an orb. */
  id: number;
  body: number;
}

/** Returns the hash of an id as records have it. */
export function idHash(id: string): number {
  return createHash("sha256").update(id).digest().readUIntBE(0, 6);
}

export function recorded({ seq, subject, data }: StoredMessage): Recorded {
  const id = idHash(subject.slice(subject.lastIndexOf(".") + 1));
  return { seq, id, body: createHash("sha256").update(data).digest().readUInt32BE(0) };
}

export const isSameRecord = (a: Recorded, b: Recorded) =>
  a.seq === b.seq && a.id === b.id && a.body === b.body;

function bytesOf(records: readonly Recorded[]): Buffer {
  const bytes = Buffer.alloc(records.length * RECORD_BYTES);
  records.forEach(({ seq, id, body }, index) => {
    const at = index * RECORD_BYTES;
    bytes.writeUIntBE(seq, at, 6);
    bytes.writeUIntBE(id, at + 6, 6);
    bytes.writeUInt32BE(body, at + 12);
  });
  return bytes;
}

function recordsIn(bytes: Buffer): Recorded[] {
  const records: Recorded[] = [];
  for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    const [seq, id] = [bytes.readUIntBE(at, 6), bytes.readUIntBE(at + 6, 6)];
    records.push({ seq, id, body: bytes.readUInt32BE(at + 12) });
  }
  return records;
}

const markSchema = z.object({
  v: z.literal(1),
  stream: z.string(),
  /** Time when the stream was created. A stream of the same name that was created later has a new record. */
  created: z.string(),
  /** ISO 8601 time of the mark. */
  at: z.string(),
  /** Last sequence number of the stream. All messages up to it that must be in the record are there. */
  lastSeq: z.int().min(0),
  /** Number of records that count. */
  count: z.int().min(0),
  /** SHA-256 of the previous value and of the records that were added since. */
  chain: z.string(),
});
export type Mark = z.infer<typeof markSchema>;

const signedSchema = z.object({ mark: z.string(), signature: z.string() });
const PURPOSE = "record of a stream";
const EMPTY_CHAIN = createHash("sha256").update("").digest("hex");

/** The record of one stream. Keeps nothing in memory, so that a restore can remove the files at any time. */
export class RecordFile {
  readonly #log: string;
  readonly #mark: string;
  readonly #stream: string;
  readonly #keys: string;

  constructor(dataDir: string, stream: string, encryptionKeys: string) {
    const name = join(recordFolder(dataDir), encodeURIComponent(stream));
    this.#log = `${name}.log`;
    this.#mark = `${name}.json`;
    this.#stream = stream;
    this.#keys = encryptionKeys;
  }

  /** Returns the mark; undefined if there is none, `invalid` if its signature is not that of this platform. */
  mark(): Mark | "invalid" | undefined {
    if (!existsSync(this.#mark)) return undefined;
    try {
      const { mark, signature } = signedSchema.parse(JSON.parse(readFileSync(this.#mark, "utf8")));
      if (verify(this.#keys, Buffer.from(mark), signature, PURPOSE) !== "valid") return "invalid";
      const parsed = markSchema.parse(JSON.parse(mark));
      return parsed.stream === this.#stream ? parsed : "invalid";
    } catch {
      return "invalid";
    }
  }

  /** Begins a record without messages. */
  begin(created: string): Mark {
    makeFolder(join(this.#log, ".."));
    closeSync(openSync(this.#log, "w", 0o600));
    const at = new Date().toISOString();
    return { v: 1, stream: this.#stream, created, at, lastSeq: 0, count: 0, chain: EMPTY_CHAIN };
  }

  /** Adds records after those that count. They do not count before {@link confirm}. Returns the new mark. */
  add(mark: Mark, records: readonly Recorded[]): Mark {
    const bytes = bytesOf(records);
    const file = openSync(this.#log, "r+");
    try {
      const from = mark.count * RECORD_BYTES;
      ftruncateSync(file, from);
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(file, bytes, done, bytes.length - done, from + done);
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    const chain = createHash("sha256").update(mark.chain).update(bytes).digest("hex");
    return { ...mark, count: mark.count + records.length, chain };
  }

  /** Signs and writes the mark, up to which the record counts. */
  confirm(mark: Mark): void {
    const text = JSON.stringify({ ...mark, at: new Date().toISOString() });
    writePrivate(
      this.#mark,
      JSON.stringify({ mark: text, signature: sign(this.#keys, Buffer.from(text), PURPOSE) }),
    );
  }

  /** Replaces the record by another one, which {@link begin} of `from` has begun. */
  replaceBy(from: RecordFile, mark: Mark): void {
    renameSync(from.#log, this.#log);
    this.confirm({ ...mark, stream: this.#stream });
  }

  remove(): void {
    rmSync(this.#mark, { force: true });
    rmSync(this.#log, { force: true });
  }

  /** Returns the last record that counts; undefined if there is none, or if the file is shorter than its mark says. */
  last({ count }: Mark): Recorded | undefined {
    if (count === 0) return undefined;
    const file = openSync(this.#log, "r");
    try {
      const bytes = Buffer.alloc(RECORD_BYTES);
      readSync(file, bytes, 0, RECORD_BYTES, (count - 1) * RECORD_BYTES);
      return recordsIn(bytes)[0];
    } finally {
      closeSync(file);
    }
  }

  /** Returns whether the file has all the records that the mark counts. */
  isWhole({ count }: Mark): boolean {
    if (!existsSync(this.#log)) return false;
    const file = openSync(this.#log, "r");
    try {
      return fstatSync(file).size >= count * RECORD_BYTES;
    } finally {
      closeSync(file);
    }
  }

  /** Yields the records that count, in order. */
  *all({ count }: Mark): Generator<Recorded> {
    const file = openSync(this.#log, "r");
    try {
      const bytes = Buffer.alloc(CHUNK);
      const end = count * RECORD_BYTES;
      for (let at = 0; at < end; ) {
        const length = readSync(file, bytes, 0, Math.min(CHUNK, end - at), at);
        if (length < RECORD_BYTES) return;
        yield* recordsIn(bytes.subarray(0, length));
        at += length - (length % RECORD_BYTES);
      }
    } finally {
      closeSync(file);
    }
  }
}
