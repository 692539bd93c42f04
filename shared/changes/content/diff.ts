/** What a change set changes: each entry and field, with the revision it began with, the one of now, and the proposed one. */
import { mayOperate, mayWith, type Principal } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { WordChange } from "../../differences/index.ts";
import {
  type EntrySnapshot,
  effective,
  type LoadedEntry,
  maskValues,
  namedEntry,
  type OrbContext,
  ofFields,
  parseEntry,
  readableIn,
  schemaOf,
  snapshotOf,
  withNames,
} from "../../entry/model/index.ts";
import { equal } from "../../kernel/json.ts";
import { ReadBudget } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { contextIn, keepingRemoved } from "../definition/index.ts";
import { type ChangeSet, requireReadable, requireSet } from "../record/index.ts";
import { type Content, type Item, readContent, SHOWN_BYTES, type VersionAct } from "./content.ts";
import { baseOf, currentOf, mergeContent, movedAt } from "./publication.ts";
import { readVersions } from "./publish.ts";
import type { Version } from "./version.ts";

/** A part of a field that the set changes. */
export interface PartDiff {
  kind: "added" | "removed" | "moved" | "changed";
  /** JSON Pointer from the entry, in the proposed values. */
  path: string;
  words?: WordChange[];
}

export interface FieldDiff {
  /** Name of the field, or `validFrom` or `validTo`. */
  name: string;
  /** The value in the revision from which the version was made. */
  base: unknown;
  /** The value in the live revision of now. */
  now: unknown;
  proposed: unknown;
  /** What is different between `base` and `proposed`. */
  changes: PartDiff[];
}

export interface EntryDiff {
  module: string;
  schema: string;
  id: string;
  act: VersionAct;
  /** Number of the version within the set. A write expects it in `If-Match`. */
  revision: number;
  /** Number of the revision from which the version was made; null for a new entry. */
  base: number | null;
  /** The entry of now; null if there is none. */
  now: { revision: number; status: EntrySnapshot["status"] } | null;
  changedAt: string;
  changedBy: string;
  through?: string;
  fields: FieldDiff[];
  /** JSON Pointers of what has changed both in the set and in the orb. An empty pointer means the whole entry. */
  conflicts: string[];
}

export interface SetDiff {
  items: EntryDiff[];
  /** Id of the last entry of the page; null after the last page. */
  next: string | null;
  /** Number of entries of the set that the caller may not read. */
  hidden: number;
}

export interface DiffInput {
  set: string;
  limit: number;
  /** Id of the last entry of the page before. */
  after?: string | undefined;
}

/** Compares a page of the entries of a set, in order of their ids. Shows only what the caller may read. */
export async function diffSet(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { set: id, limit, after = "" }: DiffInput,
): Promise<SetDiff> {
  const [record, { content }] = await Promise.all([
    requireSet(deps, context.orb, id),
    readContent(deps, context.orb, id),
  ]);
  requireReadable(caller, context.compiled, record.set);
  const within = await withinOf(deps, context, id, content);
  // A definition that is only proposed gives no rights.
  const isHidden =
    within.proposed?.changesRights === true && !mayOperate(caller.actor, "orbs.read", context.orb);
  const rest = content.items.filter((item) => item.id > after).sort((a, b) => (a.id < b.id ? -1 : 1));
  const page = rest.slice(0, limit);
  const budget = new ReadBudget(SHOWN_BYTES);
  const versions = await readVersions(deps, within, id, page, budget);
  const items: EntryDiff[] = [];
  const doneOf = new Map(page.map((item) => [item.id, item]));
  for (const version of versions) {
    const item = doneOf.get(version.address.id);
    if (item !== undefined && !isHidden && isReadable(caller, within, version))
      items.push(
        await diffOf(
          { ...deps, store: budget.charging(deps.store) },
          caller,
          within,
          record.set,
          version,
          item,
        ),
      );
  }
  const last = page.at(-1);
  const more = rest.length > page.length && last !== undefined;
  return {
    items,
    next: more ? last.id : null,
    hidden: page.length - items.length,
  };
}

/** Returns the definition with which the versions of a set were written. It keeps the schemas that the set removes. */
async function withinOf(
  deps: Deps,
  context: OrbContext,
  set: string,
  { definition }: Content,
): Promise<OrbContext> {
  if (definition === undefined) return context;
  const within = await contextIn(deps, context, set);
  return { ...within, compiled: keepingRemoved(context.compiled, within.compiled) };
}

function isReadable(caller: Principal, { compiled }: OrbContext, { address, head }: Version): boolean {
  const schema = schemaOf(compiled, address);
  return (
    schema !== undefined && mayWith(caller, "readDraft", { access: schema.access, createdBy: head.createdBy })
  );
}

/** The revisions of an entry that are compared. */
interface Sides {
  base: EntrySnapshot | null;
  now: EntrySnapshot | null;
  /** Where the orb has changed the entry, if the publication cannot merge that change. */
  moved?: string | undefined;
}

async function sidesOf(
  deps: Deps,
  context: OrbContext,
  set: ChangeSet,
  version: Version,
  item: Item,
): Promise<Sides> {
  const stream = streams.orb(context.orb);
  const schema = schemaOf(context.compiled, version.address);
  if (item.done !== undefined) {
    const { before } = item.done;
    const stored = before === null ? null : snapshotOf(await deps.store.getSeq(stream, before.seq));
    const was = stored === null ? null : withNames(schema, stored);
    return { base: was, now: was };
  }
  const message = await deps.store.get(stream, subjects.entryLog(version.address));
  const entry: LoadedEntry | null = namedEntry(context.compiled, parseEntry(message));
  const base = await baseOf(deps, schema, version);
  if (entry === null || entry.head.status === "DELETED") return { base, now: null };
  const newest = effective(entry.head, deps.clock.now());
  const current = await currentOf(deps, schema, { base: newest, entry });
  const moved = movedAt(version, newest, current, set);
  return { base, now: current.live, moved };
}

async function diffOf(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  set: ChangeSet,
  version: Version,
  item: Item,
): Promise<EntryDiff> {
  const { head, act, address } = version;
  const schema = schemaOf(context.compiled, address);
  const sides = await sidesOf(deps, context, set, version, item);
  const { base, now } = sides;
  const { id, module, revision, updatedAt, updatedBy, through } = head;
  return {
    module: schema?.module ?? module,
    schema: schema?.id ?? head.schema,
    id,
    act,
    revision,
    base: version.base?.revision ?? null,
    now: now === null ? null : { revision: now.revision, status: now.status },
    changedAt: updatedAt,
    changedBy: updatedBy,
    ...(through === undefined ? {} : { through }),
    fields:
      schema === undefined || !hasValues(version) ? [] : await fieldsOf(schema, caller, head, base, now),
    conflicts: schema === undefined ? [] : await conflictsOf(schema, caller, version, sides, item),
  };
}

/** Returns whether the publication of a version writes values. */
const hasValues = ({ act, base, edited }: Version) =>
  act === "publish" || edited === true || (act === "restore" && base === null);

async function conflictsOf(
  schema: CompiledSchema,
  caller: Principal,
  version: Version,
  { base, now, moved }: Sides,
  { done }: Item,
): Promise<string[]> {
  const { act, base: from, head } = version;
  if (done !== undefined) return [];
  if (from === null) return now === null ? [] : [""];
  if (now === null) return act === "delete" ? [] : [""];
  if (moved !== undefined) return [moved];
  if (!hasValues(version)) return [];
  if (base === null) return [""];
  const { conflicts } = await mergeContent(schema, base, now, head);
  const view = readableIn(schema, caller, head.createdBy);
  return conflicts.filter((path) => {
    const [, first, name = ""] = path.split("/");
    return first !== "values" || view.fields.has(name);
  });
}

const TIMES = ["validFrom", "validTo"] as const;

/** Compares the fields that the caller may read, and that the set changes. */
async function fieldsOf(
  schema: CompiledSchema,
  caller: Principal,
  proposed: EntrySnapshot,
  base: EntrySnapshot | null,
  now: EntrySnapshot | null,
): Promise<FieldDiff[]> {
  const { changesIn, pathOf } = await import("../../differences/index.ts");
  const view = readableIn(schema, caller, proposed.createdBy);
  const masked = (one: EntrySnapshot | null) => maskValues(ofFields(view, one?.values ?? {}), schema);
  const [old, live, own] = [masked(base), masked(now), masked(proposed)];
  const names = [...view.fields.keys()].filter(
    (name) => !equal(base?.values[name] ?? null, proposed.values[name] ?? null),
  );
  const diff = (name: string, [a, b, c]: readonly unknown[], at: string): FieldDiff => ({
    name,
    base: a ?? null,
    now: b ?? null,
    proposed: c ?? null,
    changes: changesIn(a, c).map(({ kind, way, words }) => ({
      kind,
      path: `${at}${pathOf(c, way)}`,
      ...(words === undefined ? {} : { words }),
    })),
  });
  return [
    ...names.map((name) => diff(name, [old[name], live[name], own[name]], `/values/${name}`)),
    ...TIMES.filter((name) => (base?.[name] ?? null) !== proposed[name]).map((name) =>
      diff(name, [base?.[name], now?.[name], proposed[name]], `/${name}`),
    ),
  ];
}
