/** Caches pages that many readers request, while they are valid. */
import type { StreamPage, StreamState } from "./page.ts";

interface CachedPage {
  /** The signature and basis of the state for which the page is valid. */
  proof: string;
  page: StreamPage;
}

/** Approximate memory of a page: its bytes, two numbers per message, and 512 bytes for the objects. */
const sizeOf = (page: StreamPage) => 512 + page.messages.joined.length + 16 * page.messages.seqs.length;

/**
 * Messages do not change, so a page stays valid until a message is removed, which changes the stream's signature. If
 * new messages follow the last page, only the new ones are read. A page of an orb's stream also depends on the live
 * definition (the state's basis) and on time (the page's `until`).
 */
export class PageCache {
  readonly #limit: number;
  readonly #kept = new Map<string, CachedPage>();
  /** Concurrent requests for the same page share one read. */
  readonly #reading = new Map<string, Promise<StreamPage>>();
  #size = 0;

  /** @param limit bytes */
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
