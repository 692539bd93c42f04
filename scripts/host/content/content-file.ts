/**
 * Stores the content of uploaded files in one file on this host, so that repeated downloads do not read from the
 * broker. The operating system's page cache makes reads fast, and can shrink at any time.
 *
 * The file consists of blocks. Each block contains consecutive chunks of one uploaded file. A new block replaces the
 * one that was not read for the longest time. The file has no name, so it disappears when the process ends.
 */

import { randomUUID } from "node:crypto";
import { close, openSync, read, unlinkSync, write } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ContentCache } from "../../../shared/deps.ts";

/**
 * Creates a file without a name, which the system removes when the process ends. Returns its descriptor.
 * @param use part of the name that the file has until it is unlinked
 * @throws Error if the folder does not exist or cannot be written to
 */
function openUnnamed(dir: string, use: string): number {
  const path = join(dir, `platform-${use}-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}

/** Number of chunks in a block. In `begun` and `stored`, each bit stands for one chunk. */
const BLOCK_CHUNKS = 8;
/** Maximum bytes in memory that wait to be written to the file. Chunks that exceed this limit are not stored. */
const MOST_WAITING = 4 * 1024 * 1024;

const readAt = promisify(read);
const writeAt = promisify(write);

interface Block {
  place: number;
  stored: number;
  /** Bit mask of the chunks that are stored or being written. */
  begun: number;
  /** Number of reads and writes in progress. A block in use is not replaced. */
  uses: number;
}

export class ContentFile implements ContentCache {
  readonly largest: number;
  readonly reading = new Map<string, Promise<readonly Uint8Array[]>>();
  readonly #chunk: number;
  readonly #most: number;
  readonly #onFailure: (error: unknown) => void;
  /** Blocks by their object and their position in the object, in the order of the last use. */
  readonly #blocks = new Map<string, Block>();
  #file: number | undefined;
  #closing: number | undefined;
  #failed = false;
  #uses = 0;
  #waiting = 0;

  /**
   * @param bytes size of the file
   * @param chunk bytes of all chunks except the last one of an object
   * @param onFailure called once if the file cannot be used; nothing is stored from then on
   */
  constructor(bytes: number, chunk: number, onFailure: (error: unknown) => void, dir = tmpdir()) {
    this.#chunk = chunk;
    this.#most = Math.max(2, Math.floor(bytes / (chunk * BLOCK_CHUNKS)));
    // Do not store objects of more than half the file. Such an object would replace most others, and even its own first
    // blocks before they are read again.
    this.largest = (this.#most * chunk * BLOCK_CHUNKS) / 2;
    this.#onFailure = onFailure;
    try {
      this.#file = openUnnamed(dir, "content");
    } catch (error) {
      this.#fail(error);
    }
  }

  read(object: string, chunk: number, into: Uint8Array): Promise<number> | undefined {
    const key = keyOf(object, chunk);
    const block = this.#blocks.get(key);
    if (block === undefined || this.#file === undefined) return undefined;
    const first = chunk % BLOCK_CHUNKS;
    let count = 0;
    while ((block.stored & (1 << (first + count))) !== 0) count++;
    if (count === 0) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    const length = Math.min(into.length, count * this.#chunk);
    return this.#use(block, async (file) => {
      const at = this.#position(block, first);
      for (let done = 0; done < length; ) {
        const { bytesRead } = await readAt(file, into, done, length - done, at + done);
        if (bytesRead === 0) throw new Error("the file is shorter than the data that was written to it");
        done += bytesRead;
      }
      return length;
    }).then((done) => done ?? 0);
  }

  write(object: string, chunk: number, data: Uint8Array): void {
    if (this.#file === undefined || this.#waiting + data.length > MOST_WAITING) return;
    const key = keyOf(object, chunk);
    const block = this.#blocks.get(key) ?? this.#newBlock(key);
    const first = chunk % BLOCK_CHUNKS;
    if (block === undefined || (block.begun & (1 << first)) !== 0) return;
    block.begun |= 1 << first;
    this.#waiting += data.length;
    void this.#use(block, async (file) => {
      const at = this.#position(block, first);
      for (let done = 0; done < data.length; )
        done += (await writeAt(file, data, done, data.length - done, at + done)).bytesWritten;
      block.stored |= 1 << first;
    }).then(() => {
      this.#waiting -= data.length;
    });
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    this.#blocks.clear();
    // The operating system may immediately reuse the descriptor of a closed file. So close the file only after its last
    // read and write.
    if (file === undefined) return;
    if (this.#uses === 0) close(file, () => undefined);
    else this.#closing = file;
  }

  #position({ place }: Block, chunk: number): number {
    return (place * BLOCK_CHUNKS + chunk) * this.#chunk;
  }

  #newBlock(key: string): Block | undefined {
    let place = this.#blocks.size;
    if (place === this.#most) {
      const oldest = [...this.#blocks].find(([, { uses }]) => uses === 0);
      if (oldest === undefined) return undefined;
      this.#blocks.delete(oldest[0]);
      place = oldest[1].place;
    }
    const block: Block = { place, stored: 0, begun: 0, uses: 0 };
    this.#blocks.set(key, block);
    return block;
  }

  /** Returns undefined if the file cannot be used. */
  async #use<T>(block: Block, act: (file: number) => Promise<T>): Promise<T | undefined> {
    if (this.#file === undefined) return undefined;
    block.uses++;
    this.#uses++;
    try {
      return await act(this.#file);
    } catch (error) {
      this.#fail(error);
      return undefined;
    } finally {
      block.uses--;
      this.#uses--;
      if (this.#uses === 0 && this.#closing !== undefined) {
        close(this.#closing, () => undefined);
        this.#closing = undefined;
      }
    }
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.close();
    this.#onFailure(error);
  }
}

function keyOf(object: string, chunk: number): string {
  return `${object}/${Math.floor(chunk / BLOCK_CHUNKS)}`;
}
