/**
 * The entries of an orb as a change set will leave them. The store that verbs read shows the pending versions instead
 * of the newest revisions, so the same verbs read and write entries with and without a set.
 */

import { mayWith, type Principal, principalIn, requireOperator } from "../../access/authorize.ts";
import { ADMINS_ONLY } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { type OrbContext, schemaOf, snapshotOf } from "../../entry/model/index.ts";
import { encodeText } from "../../kernel/ids.ts";
import { PAIR_BYTES, SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, lastToken, streams, subjects } from "../../store/subjects.ts";
import type { ReadOptions, Store, StoredMessage } from "../../store/types.ts";
import { definitionMovedOn } from "../definition/index.ts";
import {
  isPending,
  nextState,
  noSet,
  parseSet,
  type ReadSet,
  requireReadable,
  requireWritable,
} from "../record/index.ts";
import { addressOfItem, type Item, parseContent, type ReadContent } from "./content.ts";
import { type Merged, mergedNow, textOf } from "./merged.ts";
import { type Version, versionIn } from "./version.ts";

/** Bytes of a record and of a list of 1,000 entries. */
const OPENING_BYTES = 2 * SMALL_BYTES;
const LOG = /^[^.]+\.[^.]+\.owner\.[^.]+\.[^.]+$/;

/**
 * Whether the caller reads what will be live (`read`), reads the newest versions (`newest`), writes into the set, or selects
 * the entries to write. A write begins with the live revision of an entry, not with a draft beside it. So all but the
 * first show that revision.
 */
export type Purpose = "read" | "newest" | "write" | "select";

/** @param body replaces the message's text */
function asLog(message: StoredMessage, subject: string, body?: string): StoredMessage {
  return {
    subject,
    seq: message.seq,
    time: message.time,
    size: message.size,
    get data() {
      return body === undefined ? message.data : encodeText(body);
    },
    header: (name) => message.header(name),
    text: () => body ?? message.text(),
    json: <T>() => (body === undefined ? message.json<T>() : (JSON.parse(body) as T)),
  };
}

export class SetView {
  readonly #plain: Store;
  readonly #reader: Pick<Deps, "store" | "clock">;
  readonly #context: OrbContext;
  readonly #principal: Principal;
  readonly #purpose: Purpose;
  readonly #stream: string;
  readonly #versions = new Map<string, Version>();
  /** For entries that were merged: the sequence number of the newest revision. */
  readonly #merged = new Map<string, number>();
  #items: ReadonlyMap<string, Item> = new Map();
  readonly id: string;
  record!: ReadSet;
  content!: ReadContent;
  /** The store that shows the entries as the set will leave them. */
  readonly store: Store;

  private constructor(deps: Deps, context: OrbContext, principal: Principal, id: string, purpose: Purpose) {
    this.#plain = deps.store;
    this.#reader = { store: deps.store, clock: deps.clock };
    this.#context = context;
    this.#principal = principal;
    this.#purpose = purpose;
    this.#stream = streams.orb(context.orb);
    this.id = id;
    this.store = this.#showing(deps.store);
  }

  /**
   * Opens a set for a caller.
   * @throws AppError not_found, forbidden or unauthenticated; `wrong_state` if the purpose is to write and the set is
   * published or closed
   */
  static async open(
    deps: Deps,
    context: OrbContext,
    principal: Principal,
    id: string,
    purpose: Purpose,
  ): Promise<SetView> {
    const view = new SetView(deps, context, principal, id, purpose);
    await view.renew();
    return view;
  }

  get orb(): string {
    return this.#context.orb;
  }

  /** The entries of the set, by their ids. None after its publication. */
  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  /** Changes with every write into the set, and with every revision of the orb that was merged with a version. */
  get tag(): string {
    const seqs = [...this.#merged.values()].sort((a, b) => a - b);
    return [this.record.seq, this.content.seq, ...seqs].join(".");
  }

  /** Returns whether the set creates an entry. */
  creates(id: string): boolean {
    return this.#items.get(id)?.creates === true;
  }

  /** Reads the record and the list of entries again. Call this after a conflict. Throws the same errors as `open`. */
  async renew(): Promise<void> {
    const { orb } = this.#context;
    if (!isToken(this.id)) throw noSet();
    const wanted = [subjects.changeRecord(orb, this.id), subjects.changeContent(orb, this.id)] as const;
    const found = await nullIfMissing(this.#plain.getMany(this.#stream, wanted, { maxBytes: OPENING_BYTES }));
    const record = found?.get(wanted[0]);
    if (record === undefined) throw noSet();
    this.record = parseSet(record);
    this.content = parseContent(found?.get(wanted[1]));
    const items = isPending(this.record.set.state) ? this.content.content.items : [];
    this.#items = new Map(items.map((item) => [item.id, item]));
    this.#versions.clear();
    this.#merged.clear();
    const { set } = this.record;
    this.#requireRights();
    if (this.#isRead) return;
    nextState(set.state, "edit");
    const { proposed } = this.#context;
    // Versions written with a definition that does not know the newest fields would lose their values.
    if (proposed !== undefined && proposed.base !== proposed.live.revision)
      throw definitionMovedOn(proposed.base, proposed.live.revision);
  }

  /**
   * Throws 401, 403 or 404 if the caller may not read or write the set. The rights are those of the definition that
   * serves: one that is only proposed gives none.
   */
  #requireRights(): void {
    const { orb, compiled, proposed } = this.#context;
    const { set } = this.record;
    const live = proposed?.live.compiled ?? compiled;
    const { actor } = this.#principal;
    const principal = proposed === undefined ? this.#principal : principalIn(actor, orb, live);
    if (this.#isRead) requireReadable(principal, live, set);
    else requireWritable(principal, live, set);
    if (proposed?.changesRights === true) requireOperator(actor, "orbs.read", orb);
  }

  get #isRead(): boolean {
    return this.#purpose === "read" || this.#purpose === "newest";
  }

  /** Returns the pending version of an entry that the view has shown. */
  shown(id: string): Version | undefined {
    return this.#versions.get(id);
  }

  /** Returns whether the caller may see a pending version. Others see the entry as it is. */
  #isVisible({ address, head }: Version): boolean {
    if (this.#purpose === "write") return true;
    const access = schemaOf(this.#context.compiled, address)?.access ?? ADMINS_ONLY;
    return mayWith(this.#principal, "readDraft", { access, createdBy: head.createdBy });
  }

  #showing(store: Store): Store {
    const isHere = (stream: string, subject: string) => stream === this.#stream && LOG.test(subject);
    const reads: Pick<Store, "get" | "getMany"> = {
      get: async (stream, subject, options) => {
        if (!isHere(stream, subject)) return store.get(stream, subject, options);
        return (
          (await this.#versionsOf([subject], PAIR_BYTES)).get(subject) ??
          this.#asLive(await store.get(stream, subject, options), options)
        );
      },
      getMany: async (stream, wanted, options) => {
        const logs = options.upTo === undefined ? wanted.filter((one) => isHere(stream, one)) : [];
        if (logs.length === 0) return store.getMany(stream, wanted, options);
        const known = await this.#versionsOf(logs, options.maxBytes);
        const others = wanted.filter((one) => !known.has(one));
        const found = others.length === 0 ? new Map() : await store.getMany(stream, others, options);
        const plain = await Promise.all(
          [...found].map(async ([subject, message]: [string, StoredMessage]) => {
            const live = LOG.test(subject) ? await this.#asLive(message, options) : message;
            return live === null ? [] : [[subject, live] as const];
          }),
        );
        return new Map([...plain.flat(), ...known]);
      },
    };
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }

  /** Reads the pending versions of entries. @returns them by the subjects of the logs in `logs` */
  async #versionsOf(logs: readonly string[], maxBytes: number): Promise<Map<string, StoredMessage>> {
    const { orb, compiled } = this.#context;
    const asked = new Map<string, string>();
    for (const log of logs) {
      const item = this.#items.get(lastToken(log));
      if (item === undefined) continue;
      const address = addressOfItem(orb, item);
      const isItsOwn = log === subjects.entryLog(address) || log === subjects.anyEntryLog(orb, item.id);
      if (isItsOwn) asked.set(subjects.changeVersion(this.id, address), log);
    }
    if (asked.size === 0) return new Map();
    const found = await this.#plain.getMany(this.#stream, [...asked.keys()], { maxBytes });
    const versions = [...found.values()].flatMap((message) => versionIn(compiled, message) ?? []);
    const shown = versions.filter((version) => this.#isVisible(version));
    for (const version of shown) this.#versions.set(version.head.id, version);
    const merged = this.#isRead
      ? await mergedNow(this.#reader, this.#context, shown, maxBytes)
      : new Map<string, Merged>();
    const out = new Map<string, StoredMessage>();
    for (const version of shown) {
      const { address } = version;
      const subject = subjects.changeVersion(this.id, address);
      const [message, log] = [found.get(subject), asked.get(subject)];
      if (message === undefined || log === undefined) continue;
      const now = merged.get(address.id);
      if (now !== undefined) this.#merged.set(address.id, now.seq);
      const body = now === undefined ? undefined : textOf(this.#context, now.version);
      out.set(log, asLog(message, subjects.entryLog(address), body));
    }
    return out;
  }

  /** Unless the view shows what will be live, returns the live revision instead of a draft beside it: the draft is no part of the set. */
  async #asLive(message: StoredMessage | null, options: ReadOptions = {}): Promise<StoredMessage | null> {
    const head = this.#purpose === "read" ? null : snapshotOf(message);
    if (message === null || head === null || head.publishedSeq === null) return message;
    const live = await this.#plain.getSeq(this.#stream, head.publishedSeq, options);
    return live === null ? message : asLog(live, message.subject);
  }
}
