import { type HookDefinition, runsAfter, type ScheduleDefinition } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import {
  compiled,
  type LiveRecord,
  readableRecord,
  servingRecord,
  unreadableAt,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { buckets, kvSubject, streams } from "../../store/subjects.ts";

/** A published application that has after-write hooks or schedules. */
export interface HookedOrb {
  live: LiveOrb;
  hooks: { hook: HookDefinition; since: number }[];
  schedules: readonly ScheduleDefinition[];
}

/** Tracks the published applications that have after-write hooks or schedules. */
export class Definitions {
  readonly #deps: Pick<Deps, "store" | "log">;
  readonly orbs = new Map<string, HookedOrb>();
  /** Applications whose definition cannot be read. Their plans and their progress must stay as they are. */
  readonly unreadable = new Set<string>();
  /** Records with a definition that waits for the publication of a change set. Their own messages do not say when. */
  readonly #waiting = new Map<string, LiveRecord>();
  #last = 0;
  #created: string | undefined;

  constructor(deps: Pick<Deps, "store" | "log">) {
    this.#deps = deps;
  }

  /**
   * Reads the definitions that changed since the last call. Finds them by their sequence numbers: each change has a
   * higher number than all earlier changes.
   */
  async refresh(): Promise<void> {
    const { store } = this.#deps;
    const info = await store.streamInfo(streams.kv(buckets.orbs));
    // A restore creates the bucket again, so its revision numbers may start at 1. Then read all definitions again.
    if (info?.created !== this.#created || (info?.state.last_seq ?? 0) < this.#last) {
      this.#created = info?.created;
      this.#last = 0;
      this.orbs.clear();
      this.unreadable.clear();
      this.#waiting.clear();
    }
    if (info !== null && info.state.last_seq !== this.#last) await this.#readFrom(info.state.last_seq);
    for (const [orb, record] of this.#waiting) await this.#look(orb, record);
  }

  /** Looks whether the change set is published for which a definition waits. */
  async #look(orb: string, record: LiveRecord): Promise<void> {
    // Other applications must not wait for one whose stream cannot be read.
    const serving = await servingRecord(this.#deps, record).catch((error: unknown) => {
      this.#deps.log.warn("a definition that waits for its change set could not be looked at", {
        orb,
        error: String(error),
      });
      return record;
    });
    if (serving === record) return;
    this.#waiting.delete(orb);
    try {
      this.#take(orb, serving);
    } catch (error) {
      this.#refuse(orb, error);
    }
  }

  async #readFrom(until: number): Promise<void> {
    const { store } = this.#deps;
    const page = { limit: 100, maxBytes: READ_BYTES };
    const read = (fromSeq: number) =>
      store.scan(streams.kv(buckets.orbs), kvSubject(buckets.orbs, "*"), { fromSeq, ...page });
    const range = { fromSeq: this.#last + 1, until };
    for await (const messages of scanPages(read, range)) {
      for (const message of messages) {
        this.#read(message.subject.slice(kvSubject(buckets.orbs, "").length), message);
        this.#last = message.seq;
      }
    }
  }

  #read(orb: string, message: { json<T>(): T; size: number }): void {
    this.orbs.delete(orb);
    this.unreadable.delete(orb);
    this.#waiting.delete(orb);
    if (message.size === 0) return;
    try {
      const record = message.json<LiveRecord>();
      this.#take(orb, record);
      if (record.next !== undefined) this.#waiting.set(orb, record);
    } catch (error) {
      this.#refuse(orb, error);
    }
  }

  #take(orb: string, record: LiveRecord): void {
    const { document, names, revision, fence, scheduled, since = {} } = readableRecord(orb, record);
    const hooks = (document?.hooks ?? []).flatMap((hook) =>
      runsAfter(hook) ? [{ hook, since: since[hook.id] ?? fence?.seq ?? 0 }] : [],
    );
    const schedules = document?.schedules ?? [];
    this.orbs.delete(orb);
    if (document === null || hooks.length + schedules.length === 0) return;
    const live = {
      orb,
      revision,
      document,
      compiled: compiled(orb, revision, document, names),
      fence,
      scheduled,
    };
    this.orbs.set(orb, { live, hooks, schedules });
  }

  #refuse(orb: string, error: unknown): void {
    this.unreadable.add(orb);
    const at = unreadableAt(error);
    const reason = at === undefined ? "damaged" : "newer_version";
    this.#deps.log.error("stored definition cannot be read", { orb, reason, ...(at && { at }) });
  }
}
