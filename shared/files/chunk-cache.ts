/**
 * A cache of the parts of files (chunks) that a long-lived process has read last. A stored chunk never changes, so the
 * cache is never outdated. Each download checks the caller's rights before it reads chunks.
 */
import type { Deps } from "../deps.ts";
import { PerHost } from "../kernel/bounded-map.ts";
import { isLongLived } from "../store/policy.ts";

/** Maximum bytes of all chunks. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Maximum size in bytes of a file whose chunks are cached. A larger file would evict all other files. */
export const LARGEST_KEPT = 4 * 1024 * 1024;

class ChunkCache {
  readonly #chunks = new Map<string, Uint8Array<ArrayBuffer>>();
  #bytes = 0;

  get(key: string): Uint8Array<ArrayBuffer> | undefined {
    const found = this.#chunks.get(key);
    if (found === undefined) return undefined;
    // Insert the chunk again, because the map's order is the order of the last use.
    this.#chunks.delete(key);
    this.#chunks.set(key, found);
    return found;
  }

  set(key: string, chunk: Uint8Array): void {
    if (this.#chunks.has(key)) return;
    // Copy the chunk, because it may be part of a larger buffer that belongs to the connection.
    this.#chunks.set(key, new Uint8Array(chunk));
    this.#bytes += chunk.length;
    for (const [oldest, { length }] of this.#chunks) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#chunks.delete(oldest);
      this.#bytes -= length;
    }
  }
}

const caches = new PerHost<ChunkCache>(1);

/** Returns the cache of a long-lived process. Other processes have none. */
export function chunkCache({ config, store }: Pick<Deps, "config" | "store">): ChunkCache | undefined {
  if (!isLongLived(store)) return undefined;
  return caches.get(config, "") ?? caches.set(config, "", new ChunkCache());
}
