import type { Actor } from "../../access/actor.ts";
import { isOwn, may, mayField, mayOperate, principalIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import {
  type Pointer,
  pointerIn,
  type ReferenceTarget,
  schemaToken,
  targetKey,
} from "../../definition/document/index.ts";
import { liveOrb } from "../../definition/stored/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { indexBytes, ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import {
  addressIn,
  addressOf,
  type EntrySnapshot,
  effective,
  fieldsOfToken,
  type Guard,
  type LoadedEntry,
  namedEntry,
  nameOfToken,
  type OrbContext,
  parseEntry,
  referenceKey,
  schemaOf,
  visible,
} from "../model/index.ts";
import { inBatches } from "./batches.ts";
import { entryKeys } from "./entry-keys.ts";

interface PlacedPointer extends Pointer {
  field: CompiledField;
  path: string;
}

function pointersOf(schema: CompiledSchema, values: Readonly<Values>): PlacedPointer[] {
  return schema.references.flatMap((field) =>
    leavesOf(field, values).flatMap(({ value, trail }) => {
      const path = `/values/${trail.join("/")}`;
      const placed = (item: unknown, at: string): PlacedPointer[] => {
        const pointer = pointerIn(field.targets, item);
        return pointer === undefined ? [] : [{ ...pointer, field, path: at }];
      };
      return Array.isArray(value)
        ? value.flatMap((item, index) => placed(item, `${path}/${index}`))
        : placed(value, path);
    }),
  );
}

/** Identifies what a field refers to. The index key of a reference does not contain the schema. */
const pointerKey = ({ field, id, target }: PlacedPointer): string =>
  `${field.token} ${target === undefined ? "" : targetKey(target)} ${id}`;

/**
 * Returns a function that tells whether an entry had a reference before.
 * @param held index keys of the entry
 * @param stored values of the entry's newest revision
 */
function keptPointers(schema: CompiledSchema, held: ReadonlySet<string>, stored: Readonly<Values>) {
  const known = schema.references.some(({ polymorphic }) => polymorphic)
    ? new Set(pointersOf(schema, stored).map(pointerKey))
    : undefined;
  return (pointer: PlacedPointer): boolean =>
    held.has(referenceKey(pointer.field.token, pointer.id)) &&
    (!pointer.field.polymorphic || known?.has(pointerKey(pointer)) === true);
}

/** Returns whether a reference points to the schema of the entry that contains it. Only then can it point to itself. */
function pointsTo(target: ReferenceTarget | undefined, { orb, module, id }: CompiledSchema): boolean {
  return target?.orb === orb && target.module === module && target.schema === schemaToken(id);
}

/** `gone`: there is no such entry any more. `missing`: the caller must not know whether there is one. */
type TargetState = "gone" | "missing" | "draft" | "live";

const GONE = "refers to an entry that was deleted or archived. Remove the reference, or restore that entry.";
const FEWER_TARGETS = "Refer to fewer entries, or to smaller ones.";

export interface TargetCheck {
  faults: Fault[];
  /** With `live`: references that the entry had before, and whose targets are gone. They do not block the write. */
  warnings: Fault[];
  /**
   * The write depends on these subjects: the logs of referenced entries in the same application. It fails if a log
   * changes before the commit.
   */
  guards: Guard[];
}

export interface TargetInput {
  /** Whether the targets must be published. Then references that the entry had before are checked, too. */
  live: boolean;
  /**
   * Index keys, and values, that the entry had before. The targets of such references may be gone: a deletion by force
   * leaves such references, and must not block later writes of the entries that have them.
   */
  held: ReadonlySet<string>;
  stored: Readonly<Values>;
}

/**
 * Checks that all referenced entries exist and that the caller may read them. With `live`, they must also be
 * published.
 */
export async function checkTargets(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  self: string,
  values: Readonly<Values>,
  { live, held, stored }: TargetInput,
): Promise<TargetCheck> {
  const result: TargetCheck = { faults: [], warnings: [], guards: [] };
  const isKept = keptPointers(schema, held, stored);
  const pointers = pointersOf(schema, values).filter(
    (pointer) => !(pointer.id === self && pointsTo(pointer.target, schema)) && (live || !isKept(pointer)),
  );
  if (pointers.length === 0) return result;
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const orbs = new Set(pointers.map(({ target }) => target?.orb ?? context.orb));
  await Promise.all(
    [...orbs].map(async (orb) => {
      const target = orb === context.orb ? context : await liveOrb(deps, orb);
      const mine = pointers.filter((pointer) => (pointer.target?.orb ?? context.orb) === orb);
      const subjectOf = new Map<PlacedPointer, string>();
      for (const pointer of mine) {
        const to = pointer.target;
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
          const state = target === null ? "gone" : stateOf(deps, actor, target, message);
          heads.set(log, { seq: message.seq, state });
        }
        budget.require(FEWER_TARGETS);
      }
      const seen = new Set<string>();
      for (const pointer of mine) {
        const subject = subjectOf.get(pointer);
        const head = subject === undefined ? undefined : heads.get(subject);
        const state = head?.state ?? "gone";
        if (state === "gone" && isKept(pointer)) {
          if (live) result.warnings.push({ path: pointer.path, code: "unknown_reference", message: GONE });
          continue;
        }
        if (state === "gone" || state === "missing") {
          result.faults.push({
            path: pointer.path,
            code: "unknown_reference",
            message: `must be the id of an existing entry of ${pointer.target?.ref ?? "another schema"}`,
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
  if (entry === null || entry.head.status === "DELETED" || entry.head.status === "ARCHIVED") return "gone";
  const schema = schemaOf(target.compiled, entry.address);
  if (schema === undefined) return "gone";
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

export interface Referrers {
  /** Up to 50 references that the caller may read. */
  referrers: Referrer[];
  /** Number of referring entries that the caller may read, up to 1,000. */
  total: number;
  /**
   * Set if further entries refer to the entry: more than 1,000, or entries or fields that the caller cannot read. Only
   * platform admins can read a removed field.
   */
  totalExact?: false;
}

/** Maximum number of referring entries that a response lists. */
const NAMED = 50;
/** Maximum number of referring entries that a response counts. */
const COUNTED = 1_000;
const REFERRERS_PER_READ = 250;

/** A reference found in the index. The index may be outdated: the entry may no longer refer to the target. */
interface Hint {
  log: string;
  /** Token of the field. */
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
  const entry = namedEntry(context.compiled, parseEntry(message));
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

/** Finds the entries that refer to an entry. Lists and counts only those that the caller may read. */
export async function referrersOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
): Promise<Referrers> {
  const stream = streams.orb(context.orb);
  const principal = principalIn(actor, context.orb, context.compiled);
  const referrers: Referrer[] = [];
  const counted = new Set<string>();
  let exact = true;
  const result = (): Referrers => ({
    referrers,
    total: counted.size,
    ...(exact ? {} : { totalExact: false }),
  });
  const mayRead = (schema: CompiledSchema, field: string, head: EntrySnapshot) => {
    const on = { access: schema.access, own: isOwn(actor, head.createdBy) };
    const fields = fieldsOfToken(schema, field);
    // Entries stay in the index of a removed field until their next write, and only the current definition tells who may
    // read a field. So platform admins alone see them.
    if (fields.length === 0) return mayOperate(actor, "entries.read", context.orb);
    if (!fields.every(({ access }) => mayField(principal, "read", { access, own: on.own }))) return false;
    return may(principal, "readDraft", on) || (may(principal, "read", on) && visible(head, deps.clock.now()));
  };
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
    if (page === null) return result();
    const hints = page.messages.map(hintIn).filter((hint) => hint !== undefined);
    const byLog = Map.groupBy(hints, ({ log }) => log);
    for await (const { wanted, result: logs } of inBatches(budget, [...byLog.keys()], read)) {
      for (const hint of wanted.flatMap((log) => byLog.get(log) ?? [])) {
        const found = await confirmed({ ...deps, store }, context, hint, logs.get(hint.log), id);
        const schema = found && schemaOf(context.compiled, found.entry.address);
        if (found === undefined) continue;
        if (schema === undefined || !mayRead(schema, hint.field, found.head)) exact = false;
        else if (counted.size === COUNTED && !counted.has(hint.log)) exact = false;
        else {
          counted.add(hint.log);
          const field = nameOfToken(schema, hint.field);
          const place = { module: schema.module, schema: schema.id, id: found.head.id, field };
          // An entry that was written before a change of type is also in the index under the earlier stored name.
          const isKnown = referrers.some((one) => one.id === place.id && one.field === field);
          if (referrers.length < NAMED && !isKnown) referrers.push(place);
        }
      }
      if (budget.over) exact = false;
      if (budget.over || (counted.size === COUNTED && !exact)) return result();
    }
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return result();
    fromSeq = last.seq + 1;
  }
}

export function referenced({ referrers, total, totalExact }: Referrers): AppError {
  return new AppError(
    "conflict",
    "referenced",
    "Other entries refer to this one. Pass force=true to proceed anyway.",
    { data: { referrers, total, ...(totalExact === undefined ? {} : { totalExact }) } },
  );
}
