/** Lets the verbs of entries read and write within a change set. */
import type { Principal } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { TogetherDestination } from "../../entry/batch/index.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import type { Destination, Proposing } from "../../entry/write/index.ts";
import { contextIn } from "../definition/index.ts";
import type { ReadContent } from "./content.ts";
import { findingIn, pagesIn } from "./list.ts";
import { type Admits, intoSet } from "./pend.ts";
import { intoSetTogether } from "./together.ts";
import { SetView } from "./view.ts";

/** Dependencies and options of a verb that writes into a set instead of the entry. */
export interface WithinSet {
  deps: Deps & Proposing;
  into: Destination;
  /** For batches. */
  together: TogetherDestination;
  /** Reads the content of the set again. */
  renew(): Promise<ReadContent>;
}

export interface WritingOptions {
  /** Whether a deletion is to succeed even if other entries refer to the entry. */
  force?: boolean;
  admits?: Admits;
}

/**
 * Returns what a verb needs to write into a set.
 * @throws AppError not_found, forbidden or unauthenticated; `wrong_state` if the set is published or closed
 */
export async function writingInto(
  deps: Deps,
  principal: Principal,
  context: OrbContext,
  set: string,
  options: WritingOptions = {},
): Promise<WithinSet> {
  const view = await SetView.open(deps, context, principal, set, "write");
  const { actor } = principal;
  return {
    deps: { ...deps, store: view.store, proposed: (live) => contextIn(deps, live, set) },
    into: intoSet(deps, actor, view, options),
    together: intoSetTogether(deps, actor, view),
    async renew() {
      await view.renew();
      return view.content;
    },
  };
}

/** Dependencies and options of a verb that reads within a set. */
export interface ReadingIn {
  deps: Deps;
  /** Reads the pages of lists. */
  pages: ReturnType<typeof pagesIn>;
  /** Finds entries by words. */
  find: ReturnType<typeof findingIn>;
  /**
   * Returns a text for the ETag of what was read. It changes with every write into the set, and with every revision of
   * the orb that was merged with a version of the set.
   */
  tag(): string;
}

/**
 * Returns what verbs need to read the entries as a set will leave them. A caller who may not read the drafts
 * of an entry sees it as it is.
 * @param purpose `newest` to read the newest versions, `select` to find the entries that writes into the set are to
 *   change
 */
export async function readingIn(
  deps: Deps,
  principal: Principal,
  context: OrbContext,
  set: string,
  purpose: "read" | "newest" | "select" = "read",
): Promise<ReadingIn> {
  const view = await SetView.open(deps, context, principal, set, purpose);
  return {
    deps: { ...deps, store: view.store },
    pages: pagesIn(view),
    find: findingIn(view),
    tag: () => view.tag,
  };
}
