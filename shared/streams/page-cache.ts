/** Pages that many readers ask for, kept for as long as nothing of their stream was removed. */
import type { StreamPage, StreamState } from "./page.ts";

interface Kept {
  signature: string;
  page: StreamPage;
}

/** What a page costs beside its bytes, roughly: two numbers a message, and itself. */
const sizeOf = (page: StreamPage) => 512 + page.messages.joined.length + 16 * page.messages.seqs.length;

/**
 * Messages do not change, so a page is true until one is removed, which the stream's signature tells. A page that was
 * the last one may have grown since; then only what is new is read.
 */
export class PageCache {
  readonly #limit: number;
  readonly #kept = new Map<string, Kept>();
  /** Readers that ask for the same at the same moment share one read. */
  readonly #reading = new Map<string, Promise<StreamPage>>();
  #size = 0;

  /** @param limit bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  async get(
    key: string,
    state: StreamState,
    read: (known: StreamPage | undefined) => Promise<StreamPage>,
  ): Promise<StreamPage> {
    const kept = this.#kept.get(key);
    const known = kept?.signature === state.signature ? kept.page : undefined;
    if (known !== undefined && (!known.upToDate || known.next >= state.last)) {
      this.#keep(key, { signature: state.signature, page: known });
      return known;
    }
    const flight = `${state.signature} ${state.last} ${key}`;
    let reading = this.#reading.get(flight);
    if (reading === undefined) {
      reading = read(known).finally(() => this.#reading.delete(flight));
      this.#reading.set(flight, reading);
    }
    const page = await reading;
    if (page.messages.seqs.length > 0) this.#keep(key, { signature: state.signature, page });
    return page;
  }

  #keep(key: string, entry: Kept): void {
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
