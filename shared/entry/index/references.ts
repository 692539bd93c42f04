import type { Actor } from "../../access/actor.ts";
import { isOwn, may, mayField, principalIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/values.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { indexBytes, ReadBudget } from "../../store/budget.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { referenceKey } from "../model/index-keys.ts";
import type { Guard } from "../model/messages.ts";
import {
  addressIn,
  addressOf,
  type LoadedEntry,
  nullIfMissing,
  type OrbContext,
  parseEntry,
  schemaOf,
} from "../model/resolve.ts";
import { type EntrySnapshot, effective, visible } from "../model/snapshot.ts";
import { inBatches } from "./batches.ts";
import { entryKeys } from "./entry-keys.ts";

interface Pointer {
  field: CompiledField;
  id: string;
  path: string;
}

function pointersOf(schema: CompiledSchema, values: Readonly<Values>): Pointer[] {
  return schema.references.flatMap((field) =>
    leavesOf(field, values).flatMap(({ value, trail }) => {
      const path = `/values/${trail.join("/")}`;
      return Array.isArray(value)
        ? value.flatMap((id, index) =>
            typeof id === "string" ? [{ field, id, path: `${path}/${index}` }] : [],
          )
        : typeof value === "string"
          ? [{ field, id: value, path }]
          : [];
    }),
  );
}

/** Returns whether a field refers to entries of its own schema. Only then can an entry refer to itself. */
function pointsTo({ target }: CompiledField, { orb, module, home }: CompiledSchema): boolean {
  return target?.orb === orb && target.module === module && target.schema === home.schema;
}

type TargetState = "missing" | "draft" | "live";

const FEWER_TARGETS = "Refer to fewer entries, or to smaller ones.";

export interface TargetCheck {
  faults: Fault[];
  /**
   * The write depends on these subjects: the logs of referenced entries in the same application. It fails if a log
   * changes before the commit.
   */
  guards: Guard[];
}

/**
 * Checks that all referenced entries exist and that the caller may read them. With `live`, they must also be
 * published.
 * @param only index keys of the references to check; if missing, checks all references
 */
export async function checkTargets(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  self: string,
  values: Readonly<Values>,
  { live, only }: { live: boolean; only?: ReadonlySet<string> },
): Promise<TargetCheck> {
  const result: TargetCheck = { faults: [], guards: [] };
  const pointers = pointersOf(schema, values).filter(
    ({ field, id }) =>
      !(id === self && pointsTo(field, schema)) &&
      (only === undefined || only.has(referenceKey(field.name, id))),
  );
  if (pointers.length === 0) return result;
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const orbs = new Set(pointers.map(({ field }) => field.target?.orb ?? ""));
  await Promise.all(
    [...orbs].map(async (orb) => {
      const target = orb === context.orb ? context : await liveOrb(deps, orb);
      const mine = pointers.filter(({ field }) => field.target?.orb === orb);
      const subjectOf = new Map<Pointer, string>();
      for (const pointer of mine) {
        const to = pointer.field.target;
        const at = to === undefined ? undefined : target?.compiled.schemaNamed(to.module, to.schema);
        if (at !== undefined && isToken(pointer.id))
          subjectOf.set(pointer, subjects.entryLog(addressOf(at, pointer.id)));
      }
      const wanted = [...new Set(subjectOf.values())];
      const read = (logs: readonly string[], maxBytes: number) =>
        nullIfMissing(store.getMany(streams.orb(orb), logs, { maxBytes }));
      // All entries together may be too large for memory, so keep only the sequence number and the state of each one.
      const heads = new Map<string, { seq: number; state: TargetState }>();
      for await (const { result } of inBatches(budget, wanted, read)) {
        for (const [log, message] of result ?? []) {
          const state = target === null ? "missing" : stateOf(deps, actor, target, message);
          heads.set(log, { seq: message.seq, state });
        }
        budget.require(FEWER_TARGETS);
      }
      const seen = new Set<string>();
      for (const pointer of mine) {
        const subject = subjectOf.get(pointer);
        const head = subject === undefined ? undefined : heads.get(subject);
        const state = head?.state ?? "missing";
        if (state === "missing") {
          result.faults.push({
            path: pointer.path,
            code: "unknown_reference",
            message: `must be the id of an existing entry of ${pointer.field.definition.ref}`,
          });
        } else if (live && state !== "live") {
          result.faults.push({
            path: pointer.path,
            code: "reference_not_live",
            message: "must refer to a published entry. Publish that entry first.",
          });
        } else if (orb === context.orb && subject !== undefined && head !== undefined) {
          if (!seen.has(subject)) result.guards.push({ subject, seq: head.seq });
          seen.add(subject);
        }
      }
    }),
  );
  return result;
}

function stateOf(deps: Deps, actor: Actor, target: OrbContext, message: StoredMessage): TargetState {
  const entry = parseEntry(message);
  if (entry === null || entry.head.status === "DELETED" || entry.head.status === "ARCHIVED") return "missing";
  const schema = schemaOf(target.compiled, entry.address);
  if (schema === undefined) return "missing";
  const principal = principalIn(actor, target.orb, target.compiled);
  const on = { access: schema.access, own: isOwn(actor, entry.head.createdBy) };
  const isLive = visible(entry.head, deps.clock.now());
  if (isLive && may(principal, "read", on)) return "live";
  if (!may(principal, "readDraft", on)) return "missing";
  return isLive ? "live" : "draft";
}

export interface Referrer {
  module: string;
  schema: string;
  id: string;
  field: string;
}

/** Maximum number of referring entries that a response lists. */
const NAMED = 50;
const REFERRERS_PER_READ = 250;

/** A reference found in the index. The index may be outdated: the entry may no longer refer to the target. */
interface Hint {
  log: string;
  field: string;
}

function hintIn(message: StoredMessage): Hint | undefined {
  if (message.data.length === 0) return undefined;
  const [orb = "", , , type = "", schema = "", field = "", source = ""] = message.subject.split(".");
  return { log: subjects.entryLog(addressIn(`${orb}.${type}.owner.${schema}.${source}`)), field };
}

/**
 * Reads the entry that an index message names. Returns the entry if its newest or its published revision still refers
 * to `id`; otherwise null.
 */
async function confirmed(
  deps: Deps,
  context: OrbContext,
  hint: Hint,
  message: StoredMessage | undefined | null,
  id: string,
): Promise<{ entry: LoadedEntry; head: EntrySnapshot } | undefined> {
  const entry = parseEntry(message);
  if (entry === null || entry.head.status === "DELETED" || entry.head.id === id) return undefined;
  const head = effective(entry.head, deps.clock.now());
  const key = referenceKey(hint.field, id);
  const found = { entry, head };
  if (head.claims.includes(key) || head.liveClaims?.includes(key) === true) return found;
  if (head.defRevision === context.revision) return undefined;
  const held = await entryKeys(deps, context, schemaOf(context.compiled, entry.address), entry);
  const isLive = head.publishedRevision !== null;
  return held.claims.includes(key) || (isLive && held.liveClaims?.includes(key) === true) ? found : undefined;
}

/**
 * Returns whether another entry refers to this one, or true if finding out would take too many reads. Reads from the
 * leader, because a replica could miss a new reference.
 */
export async function isReferred(deps: Deps, context: OrbContext, id: string): Promise<boolean> {
  const { orb } = context;
  const stream = streams.orb(orb);
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const charged = { ...deps, store };
  for (let fromSeq = 1; ; ) {
    const filter = subjects.referrers(orb, id);
    const message = await nullIfMissing(store.nextMessage(stream, filter, fromSeq));
    if (message === null) return false;
    const hint = hintIn(message);
    if (
      hint !== undefined &&
      (await confirmed(charged, context, hint, await store.get(stream, hint.log), id)) !== undefined
    ) {
      return true;
    }
    if (budget.over) return true;
    fromSeq = message.seq + 1;
  }
}

/** Returns up to 50 entries that refer to an entry and that the caller may read. */
export async function referrersOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
): Promise<Referrer[]> {
  const stream = streams.orb(context.orb);
  const principal = principalIn(actor, context.orb, context.compiled);
  const out: Referrer[] = [];
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const read = (logs: readonly string[], maxBytes: number) => store.getMany(stream, logs, { maxBytes });
  for (let fromSeq = 1; ; ) {
    const filter = subjects.referrers(context.orb, id);
    const page = await nullIfMissing(
      deps.store.scan(stream, filter, {
        fromSeq,
        limit: REFERRERS_PER_READ,
        maxBytes: indexBytes(REFERRERS_PER_READ),
      }),
    );
    if (page === null) return out;
    const hints = page.messages.map(hintIn).filter((hint) => hint !== undefined);
    const byLog = Map.groupBy(hints, ({ log }) => log);
    for await (const { wanted, result } of inBatches(budget, [...byLog.keys()], read)) {
      for (const hint of wanted.flatMap((log) => byLog.get(log) ?? [])) {
        const found = await confirmed({ ...deps, store }, context, hint, result.get(hint.log), id);
        const schema = found && schemaOf(context.compiled, found.entry.address);
        if (found === undefined || schema === undefined) continue;
        const { head } = found;
        const on = { access: schema.access, own: isOwn(actor, head.createdBy) };
        const access = schema.fields.get(hint.field)?.access;
        if (access !== undefined && !mayField(principal, "read", { access, own: on.own })) continue;
        if (
          may(principal, "readDraft", on) ||
          (may(principal, "read", on) && visible(head, deps.clock.now()))
        ) {
          out.push({ module: schema.module, schema: schema.id, id: head.id, field: hint.field });
        }
      }
      if (budget.over || out.length >= NAMED) return out.slice(0, NAMED);
    }
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined || out.length >= NAMED) return out.slice(0, NAMED);
    fromSeq = last.seq + 1;
  }
}

export function referenced(referrers: readonly Referrer[]): AppError {
  return new AppError(
    "conflict",
    "referenced",
    "Other entries refer to this one. Pass force=true to proceed anyway.",
    { data: { referrers } },
  );
}
