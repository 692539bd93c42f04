/**
 * `settings.get` and `settings.set`: one entry for each account, and one for the application. Each is a whole entry
 * with its revisions, whose id follows from whose settings they are.
 */
import { type Actor, accountOf, actorId, type Role } from "../../access/actor.ts";
import { atLeast, refusal, roleIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { withKnownClaims } from "../../entry/index/held.ts";
import { claimChange, isEqualityKey } from "../../entry/model/claims.ts";
import { storedInput } from "../../entry/model/known.ts";
import { maskValues } from "../../entry/model/masking.ts";
import { messagesOf } from "../../entry/model/messages.ts";
import { addressOf, type LoadedEntry, loadEntry, loaded, orNull } from "../../entry/model/resolve.ts";
import { type EntrySnapshot, effective, type StoredValue } from "../../entry/model/snapshot.ts";
import { attempts } from "../../entry/write/attempts.ts";
import { commit } from "../../entry/write/commit.ts";
import { planNew } from "../../entry/write/create.ts";
import { appendFenced } from "../../entry/write/fenced.ts";
import { prepare } from "../../entry/write/prepare.ts";
import { requireUsing, schemaOf } from "../../handlers/contract/target.ts";
import { AppError, invalid } from "../../kernel/errors.ts";
import { derivedId } from "../../kernel/ids.ts";
import { counted } from "../../quotas/write.ts";
import { streams, subjects } from "../../store/subjects.ts";

/** Whose settings. */
export type SettingsScope = "user" | "application";

/** Settings as they are answered. */
export interface SettingsView {
  module: string;
  schema: string;
  scope: SettingsScope;
  /** Every field that has a value: what was set, else the schema's default. */
  values: Record<string, unknown>;
  /** 0 until something was set. */
  revision: number;
  updatedAt: string | null;
}

/** What settings a call is about. */
export interface SettingsTarget {
  live: LiveOrb;
  schema: CompiledSchema;
  scope: SettingsScope;
}

async function settingsId(actor: Actor, { schema, scope }: SettingsTarget): Promise<string> {
  const whose = scope === "application" ? ["application"] : ["user", accountOf(actor)];
  return derivedId(["settings", schema.id, ...whose]);
}

/** One's own are everybody's who is signed in; the application's are for admins. @throws AppError forbidden, unauthenticated */
function requireScope(actor: Actor, role: Role, scope: SettingsScope): void {
  if (!atLeast(role, scope === "application" ? "admin" : "user"))
    throw refusal(actor, scope === "application" ? "admin" : "user");
}

/** Defaults of the schema for what is not set, in the form in which values are kept. */
function withDefaults(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, unknown> {
  const set = Object.entries(stored).filter(([name]) => schema.fields.has(name));
  const { values } = validateValues(schema, {});
  return { ...values, ...maskValues(Object.fromEntries(set), schema) };
}

function viewOf(target: SettingsTarget, head: EntrySnapshot | undefined): SettingsView {
  const { schema, scope } = target;
  return {
    module: schema.module,
    schema: schema.id,
    scope,
    values: withDefaults(schema, head?.values ?? {}),
    revision: head?.revision ?? 0,
    updatedAt: head?.updatedAt ?? null,
  };
}

/** Reads settings. One request. @throws AppError forbidden, unauthenticated */
export async function getSettings(
  deps: Deps,
  caller: { actor: Actor; role: Role },
  target: SettingsTarget,
): Promise<SettingsView> {
  requireScope(caller.actor, caller.role, target.scope);
  const { live, schema } = target;
  const entry = await loadEntry(deps, live.orb, await settingsId(caller.actor, target), schema);
  return viewOf(target, entry === null || entry.head.status === "DELETED" ? undefined : entry.head);
}

/**
 * Sets the given fields and leaves the others as they are; null brings a field back to its default. Whoever sets other
 * fields at the same moment loses nothing: the write is made anew on top of his.
 * @throws AppError invalid with every fault; forbidden, unauthenticated; conflict `write_conflict`
 */
export async function setSettings(
  deps: Deps,
  caller: { actor: Actor; role: Role },
  first: SettingsTarget,
  given: Readonly<Record<string, unknown>>,
): Promise<SettingsView> {
  const { actor } = caller;
  requireScope(actor, caller.role, first.scope);
  const id = await settingsId(actor, first);
  const write = async (attempt: number) => {
    const target = attempt === 0 ? first : await renewedTarget(deps, actor, first);
    const { live, schema } = target;
    const log = subjects.entryLog(addressOf(schema, id));
    const last = await orNull(deps.store.get(streams.orb(live.orb), log));
    const entry = loaded(last);
    const stored = entry === null || entry.head.status === "DELETED" ? {} : entry.head.values;
    const values = merged(schema, stored, given);
    // Where there is a message and no entry, it is the trace of one that was purged a moment ago.
    const fresh = { id, headSeq: last?.seq ?? 0 };
    const snapshot =
      entry === null
        ? await create(deps, actor, target, fresh, values, attempt)
        : await change(deps, actor, target, entry, values, stored, attempt);
    return viewOf(target, snapshot);
  };
  return counted(deps, actor, first.live.orb, () => attempts(deps, first.live.orb, write));
}

/** Finds the target again in the current definition. @throws AppError not_found, invalid, forbidden */
async function renewedTarget(
  deps: Deps,
  actor: Actor,
  { live: { orb }, schema, scope }: SettingsTarget,
): Promise<SettingsTarget> {
  const live = await requireUsing(deps, orb, "settings.set");
  requireScope(actor, roleIn(actor, orb, live.compiled), scope);
  return { live, schema: schemaOf(live, "SETTINGS", { module: schema.module, schema: schema.id }), scope };
}

/**
 * What is stored with what is given on top. A field that nobody has set yet may be required: settings are set one by
 * one. @throws AppError invalid
 */
function merged(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { faults } = validateValues(schema, given, { existing: stored as never });
  const told = faults.filter(({ code, path }) => code !== "required" || namedBy(given, path));
  if (told.length > 0) throw invalid(told);
  const values = storedInput(schema, stored);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete values[name];
    else values[name] = value;
  }
  return values;
}

function namedBy(given: Readonly<Record<string, unknown>>, path: string): boolean {
  const name = path.split("/")[2] ?? "";
  // Null gives the field back to its default, which a required one may lack.
  return Object.hasOwn(given, name) && given[name] !== null;
}

/** The schema as settings are stored by it: nothing is required, and what nobody set is left to the default of the day. */
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
  actor: Actor,
  { live, schema }: SettingsTarget,
  { id, headSeq }: { id: string; headSeq: number },
  values: Record<string, unknown>,
  attempt: number,
): Promise<EntrySnapshot> {
  const plan = await planNew(deps, actor, live, lenient(schema), { module: schema.module, values }, id);
  const [made] = plan.snapshots;
  if (made === undefined) throw new AppError("internal", "internal_error", "Nothing was planned.");
  const snapshot: EntrySnapshot = { ...made, status: "PUBLISHED", publishedRevision: 1 };
  const write = { ...plan, headSeq, snapshots: [snapshot] };
  const sure = attempt === 0 ? write : await withKnownClaims(deps, live, schema, write);
  // Of two first writers the later one must leave nothing in the index: all of it is one act.
  await commit(deps, live, sure, { whole: true });
  return snapshot;
}

async function change(
  deps: Deps,
  actor: Actor,
  { live, schema }: SettingsTarget,
  entry: LoadedEntry,
  values: Record<string, unknown>,
  stored: Readonly<Record<string, StoredValue>>,
  attempt: number,
): Promise<EntrySnapshot> {
  const { head, seq } = entry;
  const address = addressOf(schema, head.id);
  const prepared = await prepare(deps, actor, live, lenient(schema), {
    id: head.id,
    given: values,
    stored,
    held: head.claims,
    publish: false,
    faults: [],
  });
  const now = deps.clock.now();
  // An operator may have given it a window. That it closed is a revision of its own, and what only the closed one held
  // may be another entry's since.
  const base = effective(head, now);
  const at = new Date(now).toISOString();
  const revision = base.revision + 1;
  const snapshot: EntrySnapshot = {
    ...base,
    operation: "update",
    status: "PUBLISHED",
    revision,
    publishedRevision: revision,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    updatedAt: at,
    updatedBy: actorId(actor),
    values: prepared.values,
    claims: prepared.claims,
    liveClaims: null,
    defRevision: live.revision,
  };
  const before = new Set(head.status === "DELETED" ? [] : [...head.claims, ...(base.liveClaims ?? [])]);
  const claims = claimChange(before, new Set(prepared.claims));
  const snapshots = base === head ? [snapshot] : [base, snapshot];
  const write = { address, headSeq: seq, before: head, snapshots, claims, guards: prepared.guards };
  // Its place in lists went with its deletion.
  const place = { subject: subjects.entryIndex(address), data: "{}", rollup: true };
  const again = head.status === "DELETED" ? { hints: [place] } : {};
  const hintsOnly = [...claims.adds, ...claims.frees].every(isEqualityKey);
  if (hintsOnly && prepared.guards.length === 0 && base === head) {
    // Messages in a row, hints first and truth last, as many write the same entry and a batch takes long. What is not
    // held any more stays in the index of equality: freeing it here could take away what the next writer adds.
    const messages = messagesOf({ ...write, ...again, claims: { adds: claims.adds, frees: [] } });
    await appendFenced(deps, live, write, messages);
    return snapshot;
  }
  const sure = attempt === 0 ? write : await withKnownClaims(deps, live, schema, write);
  await commit(deps, live, { ...sure, ...again });
  return snapshot;
}
