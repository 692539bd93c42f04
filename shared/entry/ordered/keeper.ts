/**
 * Compacts the indexes that no other process compacts, in a long-lived process. Writers compact an index after many
 * changes. But a writer may stop or crash before it has moved the last ones, and the next reader would then have to read
 * them all, or do without the index.
 */

import { homeKey } from "../../definition/document/index.ts";
import { definitionFor, publishedDefinitions } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { feedSubject } from "../../store/broker/index.ts";
import { Keeper } from "../../store/keeper.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { parsedHome, streams, subjects } from "../../store/subjects.ts";
import { readPage } from "../index/index.ts";
import type { OrbContext } from "../model/index.ts";
import type { OrderedField } from "./pages.ts";
import { indexesOf } from "./remove.ts";
import { LONG_LOG, shortenLog } from "./upkeep.ts";

/** Milliseconds between two looks at the indexes that have changed. */
const LOOK_MS = 2_000;
/** Milliseconds between two looks at all indexes, in case that the broker's notifications of changes were lost. */
const LOOK_AT_ALL_MS = 600_000;

/** An index that has changed since its log was last found short. */
interface Changed {
  index: OrderedField;
  /** Sequence number of the index's root at the last look. If it has moved since, another process compacts the index. */
  rootSeq: number | undefined;
}

type KeeperDeps = Pick<Deps, "store" | "log">;

export class IndexKeeper extends Keeper {
  readonly #deps: KeeperDeps;
  readonly #changed = new Map<string, Changed>();

  constructor(deps: KeeperDeps) {
    super(deps.store, {
      subject: feedSubject(subjects.everyOrderedLog),
      lookMs: LOOK_MS,
      lookAtAllMs: LOOK_AT_ALL_MS,
    });
    this.#deps = deps;
  }

  protected override failed(error: unknown): void {
    this.#deps.log.warn("the ordered indexes could not be looked at; the next look tries again", {
      error: String(error),
    });
  }

  /** Compacts the indexes with a long log that no process has compacted since the last look. */
  override async look(): Promise<void> {
    if (this.follow()) await this.#addAll();
    for (const [name, changed] of [...this.#changed]) {
      if (this.isEnding) return;
      // A change that comes during the look adds the index again.
      this.#changed.delete(name);
      try {
        const rootSeq = await this.#lookAt(changed);
        if (rootSeq !== undefined) this.#changed.set(name, { index: changed.index, rootSeq });
      } catch (error) {
        // One damaged application must not stop the compaction of others.
        this.#changed.set(name, changed);
        this.#deps.log.warn("an ordered index could not be compacted; the next look tries again", {
          orb: changed.index.orb,
          error: String(error),
        });
      }
    }
  }

  protected override take(subject: string): void {
    if (this.#changed.has(subject)) return;
    const [, orb = "", , type = "", schema = "", field = ""] = subject.split(".");
    this.#changed.set(subject, { index: { orb, ...parsedHome(type, schema), field }, rootSeq: undefined });
  }

  async #addAll(): Promise<void> {
    for await (const { orb, compiled } of publishedDefinitions(this.#deps)) {
      for (const schema of compiled.byHome.values())
        for (const field of indexesOf(schema))
          this.take(feedSubject(subjects.orderedLog({ orb, ...schema.home }, field)));
    }
    this.sawAll(Date.now());
  }

  /** Returns the sequence number of the index's root if the log is long, and another look is needed. */
  async #lookAt({ index, rootSeq }: Changed): Promise<number | undefined> {
    const { store } = this.#deps;
    const root = await nullIfMissing(
      store.get(streams.orb(index.orb), subjects.orderedRoot(index, index.field)),
    );
    const upTo = root === null ? 0 : (root.json<{ upTo?: number }>().upTo ?? 0);
    const log = subjects.orderedLog(index, index.field);
    const page = await readPage(store, index.orb, log, { fromSeq: upTo + 1, limit: 1 });
    if (page.messages.length + page.pending < LONG_LOG) return undefined;
    const seq = root?.seq ?? 0;
    if (seq !== rootSeq) return seq;
    const definition = await definitionFor(this.#deps, index.orb);
    if (definition === null || !isIndexOf(definition, index)) return undefined;
    await shortenLog(this.#deps, index, definition.fence, () => !this.isEnding);
    return seq;
  }
}

/** Returns whether the definition has the index. If it has not, the index is being erased, or was. */
function isIndexOf({ compiled }: OrbContext, { field, type, schema }: OrderedField): boolean {
  const found = compiled.byHome.get(homeKey({ type, schema }));
  return found !== undefined && indexesOf(found).includes(field);
}
