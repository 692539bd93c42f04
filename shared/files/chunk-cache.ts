/**
 * The chunks of files that a long-lived process read last. A chunk never changes, so a kept one is never outdated. Each
 * download checks the caller's rights before it reads chunks.
 */
import type { Deps } from "../deps.ts";
import { PerHost } from "../quotas/per-host.ts";

/** Maximum bytes of all chunks. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Maximum bytes of a file whose chunks are kept. Larger files would replace all others. */
export const LARGEST_KEPT = 4 * 1024 * 1024;

class ChunkCache {
  readonly #chunks = new Map<string, Uint8Array>();
  #bytes = 0;

  get(key: string): Uint8Array | undefined {
    const found = this.#chunks.get(key);
    if (found === undefined) return undefined;
    // The map is in the order of the last use.
    this.#chunks.delete(key);
    this.#chunks.set(key, found);
    return found;
  }

  set(key: string, chunk: Uint8Array): void {
    if (this.#chunks.has(key)) return;
    // A copy, because a chunk may be a part of a larger buffer of the connection.
    this.#chunks.set(key, chunk.slice());
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
  if (store.isCached !== true) return undefined;
  return caches.get(config, "") ?? caches.set(config, "", new ChunkCache());
}
