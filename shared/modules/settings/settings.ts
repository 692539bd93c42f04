/** User settings and application settings. Each is an entry whose id is derived from its owner. */

import { type Actor, accountOf, actorId, atLeast, throughOf, tokenIdOf } from "../../access/actor.ts";
import { mayForAll, type Principal, principalIn, requireAct } from "../../access/authorize.ts";
import { requireCovered } from "../../access/credentials/index.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { withReservations } from "../../entry/index/index.ts";
import {
  addressOf,
  type EntrySnapshot,
  effective,
  isHintKey,
  isOrderedKey,
  keyChange,
  type LoadedEntry,
  loadEntry,
  maskValues,
  messagesOf,
  namedEntry,
  parseEntry,
  readableIn,
  remembered,
  type StoredValue,
  storedInput,
} from "../../entry/model/index.ts";
import { tendIndexes } from "../../entry/ordered/index.ts";
import { admitted } from "../../entry/values/index.ts";
import { appendFenced, commit, planNew, prepare, retryOnConflict } from "../../entry/write/index.ts";
import { requireUsing, schemaOf } from "../../handlers/contract/index.ts";
import { invalid } from "../../kernel/errors.ts";
import { derivedId } from "../../kernel/ids.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { counted } from "../../quotas/write.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";

export type SettingsScope = "user" | "application";

export interface SettingsView {
  module: string;
  schema: string;
  scope: SettingsScope;
  /** The values that the owner has set, and the schema's defaults for all other fields. */
  values: Record<string, unknown>;
  /** Number of the newest revision. 0 if nothing has been set yet. */
  revision: number;
  updatedAt: string | null;
}

export interface SettingsTarget {
  live: LiveOrb;
  schema: CompiledSchema;
  scope: SettingsScope;
}

async function settingsId(actor: Actor, { schema, scope }: SettingsTarget): Promise<string> {
  const whose = scope === "application" ? ["application"] : ["user", accountOf(actor)];
  return derivedId(["settings", schema.home.schema, ...whose]);
}

/** Throws 401 or 403 if the caller may not read or update the settings. */
function requireScope(
  caller: Principal,
  action: "read" | "update",
  { schema: { access }, scope }: SettingsTarget,
): void {
  const allowed = scope === "user" ? atLeast(caller.role, "user") : mayForAll(caller, action, access);
  if (!allowed) throw refusal(caller.actor, scope === "application" ? "admin" : "user");
}

function withDefaults(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, unknown> {
  const set = Object.entries(stored).filter(([name]) => schema.fields.has(name));
  const { values } = validateValues(schema, {});
  return { ...values, ...maskValues(Object.fromEntries(set), schema) };
}

function viewOf(caller: Principal, target: SettingsTarget, head: EntrySnapshot | undefined): SettingsView {
  const { scope } = target;
  const schema = readableIn(target.schema, caller, head?.createdBy ?? actorId(caller.actor));
  return {
    module: schema.module,
    schema: schema.id,
    scope,
    values: withDefaults(schema, head?.values ?? {}),
    revision: head?.revision ?? 0,
    updatedAt: head?.updatedAt ?? null,
  };
}

export async function getSettings(
  deps: Deps,
  caller: Principal,
  target: SettingsTarget,
): Promise<SettingsView> {
  requireScope(caller, "read", target);
  requireCovered(caller.scope, "read");
  const { live, schema } = target;
  const stored = await loadEntry(deps, live.orb, await settingsId(caller.actor, target), schema);
  const entry = namedEntry(live.compiled, stored);
  return viewOf(caller, target, entry === null || entry.head.status === "DELETED" ? undefined : entry.head);
}

/**
 * Sets the given fields and keeps all others. Null resets a field to its default.
 * Concurrent writes of different fields are merged.
 */
export async function setSettings(
  plain: Deps,
  caller: Principal,
  first: SettingsTarget,
  given: Readonly<Record<string, unknown>>,
): Promise<SettingsView> {
  const { actor } = caller;
  requireScope(caller, "update", first);
  const deps = ofOneWrite(plain);
  const id = await settingsId(actor, first);
  const write = async (attempt: number) => {
    const target = attempt === 0 ? first : await renewedTarget(deps, actor, first);
    const { live, schema } = target;
    const log = subjects.entryLog(addressOf(schema, id));
    const last = await nullIfMissing(deps.store.get(streams.orb(live.orb), log));
    const entry = namedEntry(live.compiled, parseEntry(last));
    const stored = entry === null || entry.head.status === "DELETED" ? {} : entry.head.values;
    const writer = principalIn(actor, live.orb, live.compiled);
    const sender = { caller: writer, createdBy: entry?.head.createdBy ?? actorId(actor) };
    const { faults } = admitted(schema, sender, given, stored, {});
    if (faults.length > 0) throw invalid(faults);
    const values = merged(deps, schema, stored, given);
    // If the entry was just deleted, `last` is a mark without a revision. The new revision must follow this mark.
    const fresh = { id, headSeq: last?.seq ?? 0 };
    const snapshot =
      entry === null
        ? await create(deps, writer, target, fresh, values, attempt)
        : await change(deps, writer, target, entry, values, stored, attempt);
    return viewOf(writer, target, snapshot);
  };
  return counted(deps, actor, first.live.orb, () => retryOnConflict(deps, first.live.orb, write));
}

/** Finds the schema in the current definition and checks the caller's access again. */
async function renewedTarget(
  deps: Deps,
  actor: Actor,
  { live: { orb }, schema, scope }: SettingsTarget,
): Promise<SettingsTarget> {
  const live = await requireUsing(deps, orb, "settings.set");
  const found = schemaOf(live, "SETTINGS", { module: schema.module, schema: schema.id });
  const target: SettingsTarget = { live, schema: found, scope };
  const caller = principalIn(actor, orb, live.compiled);
  requireAct(caller, "settings:write");
  requireScope(caller, "update", target);
  return target;
}

/** Merges values into the stored ones. Required fields may be missing, because clients set settings one by one. */
function merged(
  { request: { languages } }: Deps,
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { faults } = validateValues(schema, given, { existing: stored as never, languages });
  const relevant = faults.filter(({ code, path }) => code !== "required" || namedBy(given, path));
  if (relevant.length > 0) throw invalid(relevant);
  const values = storedInput(schema, stored);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete values[name];
    else values[name] = value;
  }
  return values;
}

function namedBy(given: Readonly<Record<string, unknown>>, path: string): boolean {
  const name = path.split("/")[2] ?? "";
  return Object.hasOwn(given, name) && given[name] !== null;
}

/**
 * Returns the schema with all fields optional and without defaults. Defaults are not stored, so that a field without
 * a value gets the default of the current definition.
 */
function lenient(schema: CompiledSchema): CompiledSchema {
  const fields = new Map<string, CompiledField>();
  for (const [name, field] of schema.fields) {
    const { default: _, ...definition } = field.definition;
    fields.set(name, { ...field, required: false, definition });
  }
  return { ...schema, fields };
}

async function create(
  deps: Deps,
  caller: Principal,
  { live, schema }: SettingsTarget,
  { id, headSeq }: { id: string; headSeq: number },
  values: Record<string, unknown>,
  attempt: number,
): Promise<EntrySnapshot> {
  const plan = await planNew(deps, caller, live, lenient(schema), { module: schema.module, values }, id);
  const [made] = plan.snapshots;
  const snapshot: EntrySnapshot = { ...made, status: "PUBLISHED", publishedRevision: 1 };
  const write = { ...plan, headSeq, snapshots: [snapshot] };
  const sure = attempt === 0 ? write : await withReservations(deps, live, schema, write);
  // Use one atomic batch. If two requests write the first settings at the same time, only one succeeds. The other one
  // must leave nothing in the index.
  await commit(deps, live, sure, { atomic: true });
  return snapshot;
}

async function change(
  deps: Deps,
  caller: Principal,
  { live, schema }: SettingsTarget,
  entry: LoadedEntry,
  values: Record<string, unknown>,
  stored: Readonly<Record<string, StoredValue>>,
  attempt: number,
): Promise<EntrySnapshot> {
  const { head, seq } = entry;
  const address = addressOf(schema, head.id);
  const prepared = await prepare(deps, caller, live, lenient(schema), {
    id: head.id,
    given: values,
    stored,
    held: head.claims,
    publish: false,
    faults: [],
    createdBy: head.createdBy,
  });
  const now = deps.clock.now();
  // Expired settings count as unpublished, and another entry may have taken their unique values.
  const base = effective(head, now);
  const at = new Date(now).toISOString();
  const revision = base.revision + 1;
  const snapshot: EntrySnapshot = {
    ...base,
    schema: schema.id,
    operation: "update",
    status: "PUBLISHED",
    revision,
    publishedRevision: revision,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    updatedAt: at,
    updatedBy: actorId(caller.actor),
    through: throughOf(caller.actor),
    token: tokenIdOf(caller.actor),
    values: remembered(prepared.values, head.values),
    claims: prepared.claims,
    liveClaims: null,
    defRevision: live.revision,
  };
  const before = new Set(head.status === "DELETED" ? [] : [...head.claims, ...(base.liveClaims ?? [])]);
  const claims = keyChange(before, new Set(prepared.claims));
  const snapshots = base === head ? [snapshot] : [base, snapshot];
  const write = { address, schema, headSeq: seq, before: head, snapshots, claims, guards: prepared.guards };
  // A deletion also removes the entry from lists. This write creates it again, so add it to the lists.
  const place = { subject: subjects.entryIndex(address), data: "{}", rollup: true };
  const recreated = head.status === "DELETED" ? { hints: [place] } : {};
  const hintsOnly = [...claims.adds, ...claims.frees].every(isHintKey);
  if (hintsOnly && prepared.guards.length === 0 && base === head) {
    // Append the messages one by one, because atomic batches are slow and many callers may write the same entry.
    // Without a batch, do not remove old index keys: a concurrent writer may need such a key again. In ordered indexes,
    // removing is safe.
    const frees = claims.frees.filter(isOrderedKey);
    const messages = messagesOf({ ...write, ...recreated, claims: { adds: claims.adds, frees } });
    await appendFenced(deps, live, write, messages);
    tendIndexes(deps, live, address, claims.adds);
    return snapshot;
  }
  const sure = attempt === 0 ? write : await withReservations(deps, live, schema, write);
  await commit(deps, live, { ...sure, ...recreated });
  return snapshot;
}
