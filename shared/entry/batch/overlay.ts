/**
 * Shows the state that a batch leaves behind to the checks of its items. So a reference to an entry that another item
 * creates is valid, one to an entry that another item deletes is not, and an item may take a unique value that another
 * one gives up.
 */

import type { CompiledSchema } from "../../definition/compile.ts";
import { encodeText } from "../../kernel/ids.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append, Store, StoredMessage } from "../../store/types.ts";
import {
  addressOf,
  type EntrySnapshot,
  type EntryWrite,
  JUST_BEFORE,
  type StoredSnapshot,
  withStoredNames,
} from "../model/index.ts";

/** Returns a message that is not stored yet. @param seq sequence of the message that it replaces; 0 if there is none */
function pending(subject: string, seq: number, body: string): StoredMessage {
  return {
    subject,
    seq,
    time: 0,
    size: body.length,
    get data() {
      return encodeText(body);
    },
    header: () => undefined,
    text: () => body,
    json: <T>() => JSON.parse(body) as T,
  };
}

export class Overlay {
  readonly #stream: string;
  readonly #heads = new Map<string, StoredMessage>();
  /** Messages that only the plans of later items must see. */
  readonly #made = new Map<string, StoredMessage>();
  /** Published revisions beside a draft, by the sequence numbers that stand for them: below {@link JUST_BEFORE}. */
  readonly #published = new Map<number, StoredMessage>();
  /** The store with the state that the batch leaves behind. */
  readonly store: Store;

  constructor(orb: string, store: Store) {
    this.#stream = streams.orb(orb);
    const find = (stream: string, subject: string) =>
      stream === this.#stream ? (this.#made.get(subject) ?? this.#heads.get(subject)) : undefined;
    const reads: Pick<Store, "get" | "getMany" | "getSeq"> = {
      get: async (stream, subject, options) =>
        find(stream, subject) ?? (await store.get(stream, subject, options)),
      async getMany(stream, wanted, options) {
        const known = wanted.flatMap((subject) => find(stream, subject) ?? []);
        const others = wanted.filter((subject) => find(stream, subject) === undefined);
        const found = others.length === 0 ? [] : await store.getMany(stream, others, options);
        return new Map([...known.map((one) => [one.subject, one] as const), ...found]);
      },
      getSeq: async (stream, seq, options) =>
        (stream === this.#stream ? this.#published.get(seq) : undefined) ??
        (await store.getSeq(stream, seq, options)),
    };
    this.store = new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }

  /** Shows the newest revision that the batch gives an entry. @param seq sequence of the stored one, or 0 */
  show(schema: CompiledSchema, snapshot: EntrySnapshot | StoredSnapshot, seq: number): void {
    const subject = subjects.entryLog(addressOf(schema, snapshot.id));
    this.#heads.set(subject, pending(subject, seq, JSON.stringify(snapshot)));
  }

  /** Shows the newest revision of a planned write, and the published one if the write appends both. */
  showPlanned(
    schema: CompiledSchema,
    { snapshots, headSeq }: Pick<EntryWrite, "snapshots" | "headSeq">,
  ): void {
    const newest = snapshots.at(-1);
    if (newest === undefined) return;
    const published = newest.publishedSeq === JUST_BEFORE ? snapshots.at(-2) : undefined;
    if (published === undefined) {
      this.show(schema, withStoredNames(schema, newest), headSeq);
      return;
    }
    const publishedSeq = JUST_BEFORE - 1 - this.#published.size;
    const subject = subjects.entryLog(addressOf(schema, newest.id));
    const body = JSON.stringify(withStoredNames(schema, published));
    this.#published.set(publishedSeq, pending(subject, publishedSeq, body));
    this.show(schema, withStoredNames(schema, { ...newest, publishedSeq }), headSeq);
  }

  /** Shows messages to the plans of later items: reserved slugs, and records of files. */
  note(messages: readonly (Append & { seq: number })[]): void {
    for (const { subject, data, seq } of messages)
      this.#made.set(subject, pending(subject, seq, typeof data === "string" ? data : ""));
  }

  /** Ends what {@link note} does. */
  forget(): void {
    this.#made.clear();
  }
}
