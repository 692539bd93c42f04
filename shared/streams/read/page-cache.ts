import type { StreamPage, StreamState } from "./page.ts";

interface CachedPage {
  /** Text that changes when the stream or the definition changes. The page is valid while the text stays the same. */
  proof: string;
  page: StreamPage;
}

/** Approximate memory of a page in bytes. 512 bytes are for its JavaScript objects. */
const sizeOf = (page: StreamPage) => 512 + page.messages.joined.length + 16 * page.messages.seqs.length;

/**
 * Caches pages of messages. Stored messages never change, so a page is valid until a message of its stream is removed,
 * which changes the stream's signature. Pages of applications also depend on the published definition and on time.
 */
export class PageCache {
  readonly #limit: number;
  readonly #kept = new Map<string, CachedPage>();
  /** Concurrent requests for the same page share one read. */
  readonly #reading = new Map<string, Promise<StreamPage>>();
  #size = 0;

  /** @param limit maximum bytes of all cached pages */
  constructor(limit: number) {
    this.#limit = limit;
  }

  async get(
    key: string,
    state: StreamState,
    now: number,
    read: (known: StreamPage | undefined) => Promise<StreamPage>,
  ): Promise<StreamPage> {
    const proof = `${state.signature} ${state.basis}`;
    const kept = this.#kept.get(key);
    const open = kept?.page.until === undefined || kept.page.until > now;
    const known = kept?.proof === proof && open ? kept.page : undefined;
    if (known !== undefined && (!known.upToDate || known.next >= state.last)) {
      this.#keep(key, { proof, page: known });
      return known;
    }
    const flight = `${proof} ${state.last} ${key}`;
    let reading = this.#reading.get(flight);
    if (reading === undefined) {
      reading = read(known).finally(() => this.#reading.delete(flight));
      this.#reading.set(flight, reading);
    }
    const page = await reading;
    if (page.messages.seqs.length > 0) this.#keep(key, { proof, page });
    return page;
  }

  #keep(key: string, entry: CachedPage): void {
    const old = this.#kept.get(key);
    if (old !== undefined) this.#size -= sizeOf(old.page);
    this.#kept.delete(key);
    if (sizeOf(entry.page) * 4 > this.#limit) return;
    this.#kept.set(key, entry);
    this.#size += sizeOf(entry.page);
    for (const [oldest, { page }] of this.#kept) {
      if (this.#size <= this.#limit) break;
      this.#kept.delete(oldest);
      this.#size -= sizeOf(page);
    }
  }
}
