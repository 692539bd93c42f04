import type { Principal } from "../../access/authorize.ts";
import type { EntryOperation } from "../../access/credentials/index.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { HookDefinition, HookEvent } from "../../definition/document/index.ts";
import { requireWhole } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { askBefore, BEFORE_MS, hooksBefore } from "../../hooks/before.ts";
import type { Fault } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import {
  currentView,
  type EntrySnapshot,
  type Guard,
  type OrbContext,
  type StoredValue,
  storedInput,
} from "../model/index.ts";
import { prepare } from "./prepare.ts";

/** The part of a planned write that a hook may change. */
interface Changeable {
  values?: Record<string, StoredValue> | undefined;
  claims?: string[] | undefined;
  guards?: readonly Guard[] | undefined;
  warnings?: readonly Fault[] | undefined;
}

export interface Proposal<T extends Changeable> {
  /** Operations that the write performs. */
  acts: readonly EntryOperation[];
  decided: T;
  /** The newest stored revision, or null for a new entry. */
  previous: EntrySnapshot | null;
  /** Index keys that are already stored for the entry. */
  held: readonly string[];
  publish: boolean;
  /** Returns the revision that the write would append. */
  next(decided: T): EntrySnapshot;
}

const EVENTS: Partial<Record<EntryOperation, HookEvent>> = {
  create: "entry.created",
  update: "entry.updated",
  publish: "entry.published",
  unpublish: "entry.unpublished",
  archive: "entry.archived",
  restore: "entry.restored",
  delete: "entry.deleted",
};

/** Returns the hooks of a definition. One that a change set only proposes has none but those of the live one. */
function hooksOf({ compiled, proposed }: OrbContext): readonly HookDefinition[] {
  const { hooks = [] } = compiled.document;
  if (proposed === undefined) return hooks;
  const live = proposed.live.compiled.document.hooks ?? [];
  return hooks.filter((hook) => live.some((one) => equal(one, hook)));
}

/**
 * Calls the before-write hooks of a planned write. Validates the values again if a hook changes them. Without a hook
 * for this write, returns the planned write unchanged.
 */
export async function hooked<T extends Changeable>(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  schema: CompiledSchema | undefined,
  { acts, decided, previous, held, publish, next }: Proposal<T>,
): Promise<T> {
  const hooks = hooksOf(context);
  if (hooks.length === 0 || schema === undefined) return decided;
  const events = acts.flatMap((act) => EVENTS[act] ?? []);
  // A hook must not act for a write that cannot succeed.
  requireWhole(context.orb, context.fence);
  const until = Math.min(deps.clock.now() + BEFORE_MS, deps.hooksUntil ?? Number.POSITIVE_INFINITY);
  let now = decided;
  for (const { hook, event } of hooksBefore({ hooks }, schema, events)) {
    const entry = next(now);
    const changes = await askBefore(
      deps,
      hook,
      {
        orb: context.orb,
        event,
        principal: caller,
        entry: currentView(entry, schema),
        previous: previous === null ? null : currentView(previous, schema),
      },
      until,
    );
    const { values, claims = [], guards = [] } = now;
    // Ignore a hook's changes if the write only changes the entry's status. Such a write stores the values unchanged.
    if (values === undefined || event === "entry.deleted" || Object.keys(changes).length === 0) continue;
    const prepared = await prepare(deps, caller, context, schema, {
      id: entry.id,
      given: { ...storedInput(schema, values), ...changes },
      stored: values,
      held: [...held, ...claims],
      publish,
      faults: [],
      createdBy: entry.createdBy,
    });
    const guarded = new Set(guards.map(({ subject }) => subject));
    const more = prepared.guards.filter(({ subject }) => !guarded.has(subject));
    // A conversion happens once: the values that a hook sees are converted already.
    const converted = now.warnings?.filter(({ code }) => code === "converted") ?? [];
    const warnings = [...converted, ...prepared.warnings];
    now = {
      ...now,
      values: prepared.values,
      claims: prepared.claims,
      guards: [...guards, ...more],
      warnings,
    };
  }
  return now;
}
