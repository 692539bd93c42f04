import type { Actor } from "../../access/actor.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { subjects } from "../../store/subjects.ts";
import { isReferred, referenced, referrersOf } from "../index/references.ts";
import { publishMessages } from "../index/schedules.ts";
import { storedInput } from "../model/known.ts";
import type { Guard } from "../model/messages.ts";
import { hasDraft } from "../model/snapshot.ts";
import { windowFaults } from "../values/input.ts";
import { changeEntry, type Target, type Written } from "./change.ts";
import type { Change, State } from "./change-write.ts";
import { decideLanguages } from "./languages.ts";
import { prepare } from "./prepare.ts";
import { requireSchema, statusOf } from "./update.ts";

/**
 * Publishes the newest revision. If its `validFrom` is in the future, the broker makes it visible then.
 * @param target.locales publishes only the texts in these languages
 */
export function publishEntry(
  given: Deps,
  actor: Actor,
  target: Target & { locales?: readonly string[] | undefined },
): Promise<Written> {
  const deps = ofOneWrite(given);
  const { locales } = target;
  return changeEntry(deps, actor, target, {
    acts: ["publish"],
    request: locales === undefined ? "publish" : ["publish", locales],
    ...(locales === undefined ? {} : { skipsUnchanged: true }),
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    async decide(state) {
      if (locales !== undefined) return decideLanguages(deps, state, locales, target.into);
      const schema = requireSchema(state);
      const { base, caller, context } = state;
      const status = next(statusOf(base), "publish", hasDraft(base));
      const faults = windowFaults(base, state.now);
      const prepared = await prepare(deps, caller, context, schema, {
        id: base.id,
        given: storedInput(schema, base.values),
        stored: base.values,
        createdBy: base.createdBy,
        held: state.held.claims,
        publish: true,
        faults,
      });
      return {
        operation: "publish",
        status,
        values: prepared.values,
        claims: prepared.claims,
        guards: prepared.guards,
        made: prepared.made,
        warnings: prepared.warnings,
        live: "publish",
      };
    },
  });
}

/** Returns the change that ends the publication of an entry. */
export function unpublishChange(): Change {
  return {
    acts: ["unpublish"],
    request: "unpublish",
    decide: async ({ base }) => ({
      operation: "unpublish",
      status: next(statusOf(base), "unpublish"),
      live: "withdraw",
    }),
  };
}

export function unpublishEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, unpublishChange());
}

/** Returns the change that restores an archived entry without publishing it. */
export function restoreChange(): Change {
  return {
    acts: ["restore"],
    request: "restore",
    decide: async ({ base }) => ({
      operation: "restore",
      status: next(statusOf(base), "restore"),
      live: "keep",
    }),
  };
}

export function restoreEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, restoreChange());
}

/** Returns the change that archives (soft-deletes) an entry. It fails if other entries refer to it, unless forced. */
export function archiveChange(deps: Deps, actor: Actor, force: boolean): Change {
  return {
    acts: ["archive"],
    request: ["archive", force],
    guarded: !force,
    async decide(state) {
      const status = next(statusOf(state.base), "archive");
      const guards = force ? [] : await unreferenced(deps, actor, state);
      return { operation: "archive", status, guards, live: "withdraw" };
    },
  };
}

/** Archives (soft-deletes) an entry. Fails if other entries refer to it, unless forced. */
export function archiveEntry(
  deps: Deps,
  actor: Actor,
  target: Target & { force?: boolean | undefined },
): Promise<Written> {
  return changeEntry(deps, actor, target, archiveChange(deps, actor, target.force === true));
}

/**
 * Throws 409 if another entry refers to the entry. Otherwise returns conditions for the write: it must fail if another
 * entry adds a reference before the commit.
 * @throws AppError conflict `referenced`
 */
export async function unreferenced(deps: Deps, actor: Actor, state: State): Promise<Guard[]> {
  const { context, entry, guardSeq } = state;
  if (guardSeq !== 0 && (await isReferred(deps, context, entry.head.id))) {
    throw referenced(await referrersOf(deps, actor, context, entry.head.id));
  }
  return guardSeq === undefined
    ? []
    : [{ subject: subjects.referenceGuard(context.orb, entry.head.id), seq: guardSeq }];
}
