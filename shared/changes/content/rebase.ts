/** Moves the pending version of an entry to the live revision of now, and decides its conflicts. */
import { actorId, throughOf } from "../../access/actor.ts";
import { isOwn, type Principal, requireMay } from "../../access/authorize.ts";
import { ADMINS_ONLY } from "../../definition/document/index.ts";
import { fenceGuard, requireWhole } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import {
  type EntrySnapshot,
  effective,
  guard,
  namedEntry,
  type OrbContext,
  parseEntry,
  schemaOf,
} from "../../entry/model/index.ts";
import {
  type Change,
  changeEntry,
  renewDefinition,
  type State,
  type Written,
} from "../../entry/write/index.ts";
import { notFound, revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { untilWritten } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { contextIn } from "../definition/index.ts";
import { editing } from "../record/index.ts";
import { addressOfItem, contentMessage } from "./content.ts";
import { intoSet, versionMessages, withItem } from "./pend.ts";
import { baseOf, checked, currentOf, mergeContent, movedOn } from "./publication.ts";
import { type Base, type Version, versionIn } from "./version.ts";
import { SetView } from "./view.ts";

/** Which value stays where both the set and the orb have changed it. */
export type Keep = "change" | "live";

export interface RebaseInput {
  set: string;
  /** Id of the entry. */
  entry: string;
  /** For the places of conflicts (JSON Pointers): which value stays. */
  keep: Readonly<Record<string, Keep>>;
  /** Revision of the version in the set. */
  ifMatch?: number | undefined;
}

/**
 * Moves a version to the live revision of now. Changes that only the orb has come into the set.
 * @throws AppError conflict `change_conflict` if `keep` names no value for a conflict
 */
export async function rebaseEntry(
  deps: Deps,
  caller: Principal,
  live: OrbContext,
  input: RebaseInput,
): Promise<Written> {
  const context = await contextIn(deps, live, input.set);
  const view = await SetView.open(deps, context, caller, input.set, "write");
  const item = view.items.get(input.entry);
  if (item === undefined) throw notFound("entry", "The change set does not contain this entry.");
  if (item.act === "publish") return rebaseUpdate(deps, caller, context, view, input);
  requireWhole(context.orb, context.fence);
  let attempts = 0;
  const move = async () => {
    // The definition may have changed between two attempts.
    const now = attempts++ === 0 ? context : await renewDefinition(deps, { orbId: context.orb });
    return rebaseState(deps, caller, now, view, input);
  };
  return counted(deps, caller.actor, context.orb, () => untilWritten(move));
}

/** Rebases a version that will be live. It is validated like any other write into the set. */
async function rebaseUpdate(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  view: SetView,
  { entry, keep, ifMatch }: RebaseInput,
): Promise<Written> {
  const { orb } = context;
  let base: Base | undefined;
  const change: Change = {
    acts: ["update"],
    request: ["rebase", keep],
    async decide(state) {
      const decided = await decide(deps, state.context, view, state, keep);
      base = decided.base;
      return { operation: "update", status: "PUBLISHED", live: "keep", ...decided.made };
    },
  };
  const into = intoSet(deps, caller.actor, view, { base: () => base });
  return changeEntry(
    { ...deps, store: view.store },
    caller.actor,
    { orbId: orb, orb: context, id: entry, ifMatch, into },
    change,
  );
}

async function decide(
  deps: Deps,
  { orb, compiled }: OrbContext,
  view: SetView,
  state: State,
  keep: RebaseInput["keep"],
) {
  const version = view.shown(state.base.id);
  if (version === undefined || version.act !== "publish" || version.base === null)
    throw notFound("entry", NO_BASE);
  const { made: merged, base } = await rebased(deps, { orb, compiled }, version, keep);
  return { made: await checked(deps, state, merged, { publish: false }), base };
}

/**
 * Merges a version with the live revision of now.
 * @throws AppError conflict `change_conflict` if `keep` names no value for a conflict, or if the entry is gone
 */
async function rebased(
  deps: Deps,
  { orb, compiled }: Pick<OrbContext, "orb" | "compiled">,
  version: Version,
  keep: RebaseInput["keep"],
): Promise<{ made: Pick<EntrySnapshot, "values" | "validFrom" | "validTo">; base: Base }> {
  const { act, address, edited, head } = version;
  const message = await deps.store.get(streams.orb(orb), subjects.entryLog(address));
  const entry = namedEntry(compiled, parseEntry(message));
  if (entry === null || entry.head.status === "DELETED") throw movedOn([""]);
  const newest = effective(entry.head, deps.clock.now());
  const schema = schemaOf(compiled, address);
  const { live, seq } = await currentOf(deps, schema, { base: newest, entry });
  const base = { revision: live.revision, seq, live: newest.publishedRevision !== null };
  if (act === "delete") return { made: head, base };
  if (schema === undefined || (act !== "publish" && edited !== true)) return { made: live, base };
  const old = await baseOf(deps, schema, version);
  const made = await mergeContent(schema, old, live, head, (path) => keep[path] === "live");
  const open = made.conflicts.filter((path) => keep[path] === undefined);
  if (open.length > 0) throw movedOn(open);
  return { made, base };
}

/** Rebases a version that will not be live: an archival or deletion, for example. */
async function rebaseState(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  view: SetView,
  { set, entry, keep, ifMatch }: RebaseInput,
): Promise<Written> {
  const { orb, compiled } = context;
  const { actor } = caller;
  const { record, content } = view;
  const item = view.items.get(entry);
  const address = item === undefined ? undefined : addressOfItem(orb, item);
  const stream = streams.orb(orb);
  const message =
    address === undefined ? null : await deps.store.get(stream, subjects.changeVersion(set, address));
  const version = versionIn(compiled, message);
  if (version === null || version.base === null || version.act === "publish")
    throw notFound("entry", NO_BASE);
  const { head, act, force, edited } = version;
  const schema = schemaOf(compiled, version.address);
  const on = { access: schema?.access ?? ADMINS_ONLY, own: isOwn(actor, head.createdBy) };
  requireMay(caller, act === "unpublish" ? "update" : act, on);
  if (ifMatch !== undefined && ifMatch !== head.revision) throw revisionMismatch(head.revision);
  const { made, base } = await rebased(deps, context, version, keep);
  const { values, validFrom, validTo } = made;
  const snapshot: EntrySnapshot = {
    ...{ ...head, values, validFrom, validTo, revision: head.revision + 1 },
    updatedAt: new Date(deps.clock.now()).toISOString(),
    updatedBy: actorId(actor),
    through: throughOf(actor),
  };
  const pending = { act, base, ...(force ? { force } : {}), ...(edited ? { edited } : {}) };
  const write = { address: version.address, schema, headSeq: version.seq };
  const stored = await versionMessages(set, { write, snapshot, pending }, version.seq);
  const next = withItem(content.content, entry, stored.item, actorId(actor));
  const messages = [contentMessage(orb, set, next, content.seq), ...stored.messages];
  const edit = editing(deps, actor, orb, record);
  try {
    const guards = [...edit.guards, fenceGuard(orb, context.fence)];
    const all = guard(version.address, [...edit.messages, ...messages], guards);
    const seq = await deps.store.batch(stream, all);
    return { snapshot, seq, replayed: false };
  } catch (error) {
    await view.renew();
    throw error;
  }
}

const NO_BASE = "The change set does not change an existing entry with this id.";
