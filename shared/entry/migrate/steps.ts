/** What splits and joins share: work on all entries of a schema while a definition is published. */
import type { Step } from "../../definition/changes.ts";
import type { Deps } from "../../deps.ts";
import type { Home } from "../../store/subjects.ts";
import { entriesSince } from "../index/scan-entries.ts";
import type { OrbContext, StoredEntry } from "../model/resolve.ts";
import type { LossyEntries } from "./publishing.ts";

/** A step, and the definitions before and after it. */
export interface StepOf {
  step: Step;
  /** The schema that has the field. */
  home: Home;
  from: OrbContext;
  to: OrbContext;
}

/** Yields entries that were written after a sequence number, each once in a page, also those that were deleted. */
export async function* changedEntries(
  deps: Deps,
  orb: string,
  home: Home,
  since: number,
): AsyncGenerator<StoredEntry[]> {
  for await (const page of entriesSince(deps, orb, home, since, { deleted: true }))
    yield [...new Map(page.map((entry) => [entry.head.id, entry])).values()];
}

/** Entries that a report names. */
const NAMED = 50;

/** Collects the entries that would lose something. */
export class LossList {
  #entries = 0;
  readonly #examples: { id: string; reason: string }[] = [];

  add(id: string, reason: string): void {
    this.#entries++;
    if (this.#examples.length < NAMED) this.#examples.push({ id, reason });
  }

  get found(): LossyEntries | undefined {
    return this.#entries === 0 ? undefined : { entries: this.#entries, examples: this.#examples };
  }
}
