/**
 * Stores responses in a file. Its index takes about 40 bytes of memory per response. The operating system's page
 * cache makes reads fast, and can shrink at any time.
 *
 * The file is a ring buffer of blocks: a new block replaces the responses in the oldest one. The file has no name, so
 * it disappears when the process ends.
 */
import { closeSync, readSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { openUnnamed } from "./content/unnamed-file.ts";
import { hashOf } from "./hash.ts";

export interface StoredResponse {
  /** Number that the caller chooses, up to 2³² - 1, to recognise outdated responses later. */
  generation: number;
  etag: string | undefined;
  body: Buffer;
}

/** The file is written in blocks of this many bytes. Longer responses are not stored. */
const BLOCK = 65_535;
/**
 * The index has one slot for each stored response, and this many bytes of the file per slot. If the responses have
 * fewer bytes on average, the index runs out of slots before the file is full.
 */
const BYTES_EACH = 768;
/** Bytes for the lengths of the key and of the ETag. */
const HEAD = 4;
const NO_TAG = 0xffff;

/**
 * Maximum number of stored responses that depend on the same broker subject. They differ in language, origin or
 * parameters. A further response replaces the oldest.
 */
const MOST_VARIANTS = 32;

/** A hash table. Each bucket is a linked list of index slots, newest first. */
class Chains {
  // Each value is the number of a slot plus one, so that 0 can end a list.
  readonly #first: Uint32Array;
  readonly #next: Uint32Array;
  readonly #previous: Uint32Array;
  readonly #hash: Int32Array;

  constructor(places: number) {
    this.#first = new Uint32Array(2 ** Math.ceil(Math.log2(places)));
    this.#next = new Uint32Array(places);
    this.#previous = new Uint32Array(places);
    this.#hash = new Int32Array(places);
  }

  #bucket(hash: number): number {
    return hash & (this.#first.length - 1);
  }

  add(place: number, hash: number): void {
    const bucket = this.#bucket(hash);
    const next = this.#first[bucket] ?? 0;
    this.#hash[place] = hash;
    this.#next[place] = next;
    this.#previous[place] = 0;
    if (next > 0) this.#previous[next - 1] = place + 1;
    this.#first[bucket] = place + 1;
  }

  remove(place: number): void {
    const next = this.#next[place] ?? 0;
    const previous = this.#previous[place] ?? 0;
    if (next > 0) this.#previous[next - 1] = previous;
    if (previous > 0) this.#next[previous - 1] = next;
    else this.#first[this.#bucket(this.#hash[place] ?? 0)] = next;
  }

  /**
   * Yields the slots that have a given hash. Reads the next slot before each yield, because the caller may remove the
   * yielded slot.
   */
  *find(hash: number): Generator<number> {
    for (let at = this.#first[this.#bucket(hash)] ?? 0; at > 0; ) {
      const place = at - 1;
      at = this.#next[place] ?? 0;
      if (this.#hash[place] === hash) yield place;
    }
  }

  clear(): void {
    this.#first.fill(0);
  }
}

export class ResponseFile {
  readonly #onFailure: (error: unknown) => void;
  #file: number | undefined;
  readonly #blocks: number;
  /** The block that is being filled. It is not in the file yet. */
  readonly #open = Buffer.alloc(BLOCK);
  #openBlock = 0;
  #openBytes = 0;
  // The index is a ring buffer: each stored response gets the next slot. The operating system allocates the memory of
  // these arrays only when slots are used.
  readonly #block: Uint16Array;
  readonly #offset: Uint16Array;
  /** 0 marks a removed response. */
  readonly #size: Uint16Array;
  readonly #generation: Uint32Array;
  readonly #keys: Chains;
  readonly #subjects: Chains;
  #oldest = 0;
  #used = 0;
  #answers = 0;

  /**
   * @param bytes size of the file, from two blocks (128 KiB) to 4 GiB
   * @param onFailure called once if the file cannot be used; nothing is stored from then on
   */
  constructor(bytes: number, onFailure: (error: unknown) => void, dir = tmpdir()) {
    this.#onFailure = onFailure;
    this.#blocks = Math.min(65_536, Math.max(2, Math.floor(bytes / BLOCK)));
    const places = Math.ceil((this.#blocks * BLOCK) / BYTES_EACH);
    this.#block = new Uint16Array(places);
    this.#offset = new Uint16Array(places);
    this.#size = new Uint16Array(places);
    this.#generation = new Uint32Array(places);
    this.#keys = new Chains(places);
    this.#subjects = new Chains(places);
    try {
      this.#file = openUnnamed(dir, "answers");
    } catch (error) {
      this.#fail(error);
    }
  }

  get answers(): number {
    return this.#answers;
  }

  get works(): boolean {
    return this.#file !== undefined;
  }

  /**
   * Stores a response.
   * @param subject broker subject whose message the response depends on
   */
  put(
    key: string,
    subject: string,
    generation: number,
    etag: string | undefined,
    body: string | Buffer,
  ): boolean {
    const keyHash = hashOf(key);
    const subjectHash = hashOf(subject);
    this.#removeAll(this.#keys, keyHash);
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const size = HEAD + key.length + (etag?.length ?? 0) + bytes;
    if (size > BLOCK || this.#file === undefined) return false;
    if (this.#openBytes + size > BLOCK && !this.#turn()) return false;
    if (this.#used === this.#size.length) this.#dropOldest();
    const place = (this.#oldest + this.#used++) % this.#size.length;
    const at = this.#openBytes;
    const open = this.#open;
    let end = open.writeUInt16LE(key.length, at);
    end = open.writeUInt16LE(etag?.length ?? NO_TAG, end);
    end += open.write(key, end, "latin1");
    if (etag !== undefined) end += open.write(etag, end, "latin1");
    if (typeof body === "string") open.write(body, end);
    else body.copy(open, end);
    this.#block[place] = this.#openBlock;
    this.#offset[place] = at;
    this.#size[place] = size;
    this.#generation[place] = generation;
    this.#keys.add(place, keyHash);
    this.#limit(subjectHash);
    this.#subjects.add(place, subjectHash);
    this.#openBytes += size;
    this.#answers++;
    return true;
  }

  /**
   * Returns a stored response.
   * @param wanted returns whether responses of a generation may be used; only such responses are read
   */
  get(key: string, wanted: (generation: number) => boolean): StoredResponse | undefined {
    for (const place of this.#keys.find(hashOf(key))) {
      const generation = this.#generation[place] ?? 0;
      if (!wanted(generation)) continue;
      const bytes = this.#read(place);
      if (bytes === undefined) return undefined;
      const keyEnd = HEAD + bytes.readUInt16LE(0);
      if (bytes.toString("latin1", HEAD, keyEnd) !== key) continue;
      const tag = bytes.readUInt16LE(2);
      const tagEnd = keyEnd + (tag === NO_TAG ? 0 : tag);
      const etag = tag === NO_TAG ? undefined : bytes.toString("latin1", keyEnd, tagEnd);
      return { generation, etag, body: bytes.subarray(tagEnd) };
    }
    return undefined;
  }

  /**
   * Removes a response. May also remove responses whose key has the same 32-bit hash, which are then created again.
   */
  drop(key: string): void {
    this.#removeAll(this.#keys, hashOf(key));
  }

  forget(subject: string): void {
    if (this.#answers > 0) this.#removeAll(this.#subjects, hashOf(subject));
  }

  #removeAll(chains: Chains, hash: number): void {
    for (const place of chains.find(hash)) this.#remove(place);
  }

  /** If there are too many responses about one subject, removes the oldest of them. */
  #limit(hash: number): void {
    let variants = 0;
    for (const place of this.#subjects.find(hash)) if (++variants >= MOST_VARIANTS) this.#remove(place);
  }

  #clear(): void {
    this.#keys.clear();
    this.#subjects.clear();
    this.#size.fill(0);
    this.#oldest = this.#used = this.#answers = 0;
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    this.#clear();
    if (file !== undefined) closeSync(file);
  }

  #fail(error: unknown): void {
    try {
      this.close();
    } catch {
      // Ignore this error. Only the error that made the file unusable is reported.
    }
    this.#onFailure(error);
  }

  #read(place: number): Buffer | undefined {
    const size = this.#size[place] ?? 0;
    const offset = this.#offset[place] ?? 0;
    const block = this.#block[place] ?? 0;
    const bytes = Buffer.allocUnsafe(size);
    if (block === this.#openBlock) {
      this.#open.copy(bytes, 0, offset, offset + size);
      return bytes;
    }
    if (this.#file === undefined) return undefined;
    try {
      if (readSync(this.#file, bytes, 0, size, block * BLOCK + offset) === size) return bytes;
      throw new Error("the response file is shorter than the data that was written to it");
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Writes the current block to the file and starts the next one, which replaces the oldest responses. */
  #turn(): boolean {
    try {
      const { length } = this.#open;
      for (let done = 0; done < length && this.#file !== undefined; )
        done += writeSync(this.#file, this.#open, done, length - done, this.#openBlock * BLOCK + done);
    } catch (error) {
      this.#fail(error);
      return false;
    }
    this.#openBlock = (this.#openBlock + 1) % this.#blocks;
    this.#openBytes = 0;
    while (this.#used > 0 && this.#block[this.#oldest] === this.#openBlock) this.#dropOldest();
    return true;
  }

  #dropOldest(): void {
    this.#remove(this.#oldest);
    this.#oldest = (this.#oldest + 1) % this.#size.length;
    this.#used--;
  }

  #remove(place: number): void {
    if (this.#size[place] === 0) return;
    this.#size[place] = 0;
    this.#keys.remove(place);
    this.#subjects.remove(place);
    this.#answers--;
  }
}
