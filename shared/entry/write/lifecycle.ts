/** The operations that move an entry: publish, unpublish, archive, restore. Each makes one revision in one atomic act. */
import type { Actor } from "../../access/actor.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { subjects } from "../../store/subjects.ts";
import { isReferred, referenced, referrersOf } from "../index/references.ts";
import { publishMessages } from "../index/schedules.ts";
import { storedInput } from "../model/known.ts";
import type { Guard } from "../model/messages.ts";
import { hasDraft } from "../model/snapshot.ts";
import { changeEntry, type State, type Target, type Written } from "./change.ts";
import { windowFaults } from "./input.ts";
import { prepare } from "./prepare.ts";
import { requireSchema, statusOf } from "./update.ts";

/**
 * Makes the newest draft live: at once when its window is open, by the broker's scheduler when it opens later.
 * Two requests one after the other; three when it refers to entries, as those must be live.
 * @throws AppError not_found; precondition `revision_mismatch`; conflict `wrong_state`, `reference_not_live`,
 * `unique_conflict`; invalid when it no longer fits the definition, or its window has closed; forbidden
 */
export function publishEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, {
    acts: ["publish"],
    request: "publish",
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    async decide(state) {
      const schema = requireSchema(state);
      const { base, context } = state;
      const status = next(statusOf(base), "publish", hasDraft(base));
      const faults = windowFaults(base, state.now);
      const prepared = await prepare(deps, actor, context, schema, {
        id: base.id,
        given: storedInput(schema, base.values),
        stored: base.values,
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
        live: "publish",
      };
    },
  });
}

/** Takes an entry offline; its draft stays. @throws AppError not_found; precondition; conflict `wrong_state`; forbidden */
export function unpublishEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, {
    acts: ["unpublish"],
    request: "unpublish",
    decide: async ({ base }) => ({
      operation: "unpublish",
      status: next(statusOf(base), "unpublish"),
      live: "withdraw",
    }),
  });
}

/** Brings an archived entry back, offline. @throws AppError not_found; precondition; conflict `wrong_state`; forbidden */
export function restoreEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, {
    acts: ["restore"],
    request: "restore",
    decide: async ({ base }) => ({
      operation: "restore",
      status: next(statusOf(base), "restore"),
      live: "keep",
    }),
  });
}

/**
 * Soft-deletes an entry.
 * @throws AppError not_found; precondition; conflict `wrong_state`, `referenced` with the referrers that the caller may
 * read, unless forced; forbidden
 */
export function archiveEntry(
  deps: Deps,
  actor: Actor,
  target: Target & { force?: boolean | undefined },
): Promise<Written> {
  const force = target.force === true;
  return changeEntry(deps, actor, target, {
    acts: ["archive"],
    request: ["archive", force],
    guarded: !force,
    async decide(state) {
      const status = next(statusOf(state.base), "archive");
      const guards = force ? [] : await unreferenced(deps, actor, state);
      return { operation: "archive", status, guards, live: "withdraw" };
    },
  });
}

/**
 * Makes sure that nothing refers to an entry.
 * @returns what must not change until the commit: a reference that is added meanwhile moves it
 * @throws AppError conflict `referenced`
 */
export async function unreferenced(deps: Deps, actor: Actor, state: State): Promise<Guard[]> {
  const { context, entry, guardSeq } = state;
  // Nothing ever referred to it: the guard was never touched.
  if (guardSeq !== 0 && (await isReferred(deps, context, entry.head.id))) {
    throw referenced(await referrersOf(deps, actor, context, entry.head.id));
  }
  return guardSeq === undefined
    ? []
    : [{ subject: subjects.referenceGuard(context.orb, entry.head.id), seq: guardSeq }];
}
