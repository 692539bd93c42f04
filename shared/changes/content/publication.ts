/** The publication of one entry of a change set: merges the pending version with the live revision. */
import type { Actor } from "../../access/actor.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { publishedOf, publishMessages, withoutMade } from "../../entry/index/index.ts";
import {
  type EntrySnapshot,
  isSealed,
  remembered,
  snapshotOf,
  storedInput,
  withNames,
} from "../../entry/model/index.ts";
import { windowFaults } from "../../entry/values/index.ts";
import {
  archiveChange,
  type Change,
  type Decision,
  deleteChange,
  prepare,
  requireSchema,
  restoreChange,
  type State,
  unpublishChange,
} from "../../entry/write/index.ts";
import { isFileValue } from "../../files/record.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";
import { equal } from "../../kernel/json.ts";
import { streams } from "../../store/subjects.ts";
import { type ChangeSet, takesBack } from "../record/index.ts";
import type { VersionAct } from "./content.ts";
import type { Version } from "./version.ts";

type Values = EntrySnapshot["values"];
type Content = Pick<EntrySnapshot, "values" | "validFrom" | "validTo">;

/** The result of a three-way merge of an entry, and the JSON Pointers of what both sides have changed. */
export interface MergedContent extends Content {
  conflicts: string[];
}

const NOTHING: Content = { values: {}, validFrom: null, validTo: null };
const WINDOW = ["validFrom", "validTo"] as const;

const isWhole = (value: unknown) => isSealed(value) || isFileValue(value);

/** Returns whether the parts of a field's value can be changed apart from each other. */
function hasParts({ shapes, translatable, marketSpecific, definition }: CompiledField): boolean {
  return shapes !== undefined || translatable || marketSpecific || definition.type === "richText";
}

/**
 * Merges a pending version with the live revision. In a conflict, takes the value of the version.
 * @param base the revision from which the version was made; null if there was none
 * @param isTheirs returns whether a conflict, at a JSON Pointer, takes the value of the live revision instead
 */
export async function mergeContent(
  schema: CompiledSchema,
  base: Content | null,
  theirs: Content,
  mine: Content,
  isTheirs: (path: string) => boolean = () => false,
): Promise<MergedContent> {
  const { merge } = await import("../../differences/index.ts");
  const old = base ?? NOTHING;
  const conflicts: string[] = [];
  const at = (way: readonly string[]) => `/values${pointer(way)}`;
  const names = new Set([...Object.keys(theirs.values), ...Object.keys(mine.values)]);
  const values: Values = {};
  for (const name of names) {
    const field = schema.fields.get(name);
    const whole = field === undefined || !hasParts(field) ? () => true : isWhole;
    const options = { isWhole: whole, isTheirs: (way: readonly string[]) => isTheirs(at([name, ...way])) };
    const merged = merge(old.values[name], theirs.values[name], mine.values[name], options);
    if (merged.value !== undefined) values[name] = merged.value;
    conflicts.push(...merged.conflicts.map((way) => at([name, ...way])));
  }
  const made = { validFrom: mine.validFrom, validTo: mine.validTo };
  for (const name of WINDOW) {
    const merged = merge(old[name], theirs[name], mine[name], { isTheirs: () => isTheirs(`/${name}`) });
    made[name] = merged.value as string | null;
    if (merged.conflicts.length > 0) conflicts.push(`/${name}`);
  }
  return { values: remembered(values, mine.values, theirs.values), ...made, conflicts };
}

const MOVED_ON = "was changed both in the change set and in the orb. Choose one of the two values.";

/** Error 409: the live revision has changed in what the set changes too. */
export function movedOn(paths: readonly string[]): AppError {
  const errors = paths.map((path): Fault => ({ path, code: "change_conflict", message: MOVED_ON }));
  return new AppError(
    "conflict",
    "change_conflict",
    "The orb has changed since the change set was written, in the same places.",
    { errors },
  );
}

/** The operations that the publisher of a set must be permitted to do. */
export const ACTS: Readonly<Record<VersionAct, Change["acts"]>> = {
  publish: ["publish"],
  unpublish: ["unpublish"],
  archive: ["archive"],
  restore: ["restore"],
  delete: ["delete"],
};

/** Reads the revision from which a version was made. Returns null if it was purged, or if there was none. */
export async function baseOf(
  deps: Pick<Deps, "store">,
  schema: CompiledSchema | undefined,
  { base, address }: Version,
): Promise<EntrySnapshot | null> {
  if (base === null) return null;
  const stored = snapshotOf(await deps.store.getSeq(streams.orb(address.orb), base.seq));
  return stored === null || stored.id !== address.id ? null : withNames(schema, stored);
}

/** The revision that a publication replaces, and where it is stored. */
export interface Current {
  live: EntrySnapshot;
  seq: number;
  /** Whether a newer draft is beside the live revision. */
  beside: boolean;
}

/** Returns the live revision of an entry, or its newest one if it is not live. */
export async function currentOf(
  deps: Pick<Deps, "store">,
  schema: CompiledSchema | undefined,
  { base, entry }: Pick<State, "base" | "entry">,
): Promise<Current> {
  const beside = base.publishedRevision !== null && base.revision !== base.publishedRevision;
  const live = beside ? await publishedOf(deps, schema, { head: base, address: entry.address }) : null;
  if (live === null || base.publishedSeq === null) return { live: base, seq: entry.seq, beside: false };
  return { live, seq: base.publishedSeq, beside };
}

/** A change set, and the one that it takes back. */
type OfSet = Pick<ChangeSet, "id" | "reverts" | "undoes" | "undoesToken">;

/** Returns the change that publishes a pending version. */
export function publicationOf(deps: Deps, actor: Actor, set: OfSet, version: Version): Change {
  const force = version.force === true;
  const named = (change: Change): Change => ({
    ...change,
    decide: async (state) => ({ ...(await change.decide(state)), change: set.id }),
  });
  switch (version.act) {
    case "publish":
      return named(publishing(deps, version));
    case "unpublish":
      return named(unchanged(deps, set, version, withEdits(deps, version, unpublishChange())));
    case "restore":
      return named(
        version.base === null ? recreating(deps, version) : withEdits(deps, version, restoreChange()),
      );
    case "archive":
      return named(
        unchanged(deps, set, version, withEdits(deps, version, archiveChange(deps, actor, force))),
      );
    case "delete":
      return named(unchanged(deps, set, version, deleteChange(deps, actor, { force })));
  }
}

/** Returns whether an entry already is in the state that a version leads to, apart from its values. */
export function isReached(act: VersionAct, { status, publishedRevision }: EntrySnapshot): boolean {
  if (act === "unpublish") return publishedRevision === null;
  if (act === "archive") return status === "ARCHIVED";
  return act === "restore" && status !== "ARCHIVED";
}

/** Returns a change that also stores the values that the set has changed in an entry that it does not publish. */
function withEdits(deps: Deps, version: Version, change: Change): Change {
  if (version.edited !== true) return change;
  return {
    ...change,
    async decide(state) {
      const schema = requireSchema(state);
      const { base: newest } = state;
      const old = await baseOf(deps, schema, version);
      if (old === null) throw movedOn([""]);
      const { live, beside } = await currentOf(deps, schema, state);
      const merged = await mergeContent(schema, old, live, version.head);
      if (merged.conflicts.length > 0) throw movedOn(merged.conflicts);
      // The draft keeps what its author changed in it, and gets all other changes of the set.
      const content = beside ? await mergeContent(schema, live, merged, newest) : merged;
      const made = await checked(deps, state, content, { publish: false });
      const decided: Decision = isReached(version.act, newest)
        ? { operation: "update", status: newest.status, live: "keep" }
        : await change.decide(state);
      return { ...decided, ...made, guards: [...(decided.guards ?? []), ...made.guards] };
    },
  };
}

/**
 * Returns where the orb has changed an entry since its version was made, if the publication cannot merge that change.
 * An entry that is not live has only drafts: these never become live with a set that was made before.
 * @returns a JSON Pointer; undefined if there is no such change
 */
export function movedAt(
  version: Version,
  newest: EntrySnapshot,
  { seq }: Current,
  set: Omit<OfSet, "id"> = {},
): string | undefined {
  const { act, base } = version;
  if (act === "restore" || base === null || isReached(act, newest)) return undefined;
  // A set that takes another one back leaves what others have published since.
  if (act === "unpublish" && !takesBack(set)) return undefined;
  if (act !== "publish") return seq === base.seq ? undefined : "";
  if (newest.publishedRevision !== null) return undefined;
  if (base.live) return "/status";
  return seq === base.seq ? undefined : "";
}

/** Returns a change that fails if the orb has changed the entry in a way that {@link movedAt} finds. */
function unchanged(deps: Deps, set: OfSet, version: Version, change: Change): Change {
  return {
    ...change,
    async decide(state) {
      const current = await currentOf(deps, state.schema, state);
      const moved = movedAt(version, state.base, current, set);
      if (moved !== undefined) throw movedOn([moved]);
      return change.decide(state);
    },
  };
}

/** Returns the change that creates a deleted entry again, in the state before its deletion. */
function recreating(deps: Deps, { head }: Version): Change {
  return {
    acts: ACTS.restore,
    request: "restore",
    creates: true,
    async decide(state) {
      const made = await checked(deps, state, head, { publish: false });
      return { operation: "create", status: head.status, live: "keep", index: "add", ...made };
    },
  };
}

function publishing(deps: Deps, version: Version): Change {
  const creates = version.base === null;
  return {
    acts: ACTS.publish,
    request: "publish",
    creates,
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    decide: (state) => (creates ? decideNew(deps, version, state) : decideKnown(deps, version, state)),
  };
}

/**
 * Validates content of a version, as a publication or as a draft.
 * @param as.made index keys of slugs that the platform chose, and that it may choose again
 */
export async function checked(
  deps: Deps,
  state: State,
  { values, validFrom, validTo }: Content,
  {
    publish,
    held = [],
    made = [],
  }: { publish: boolean; held?: readonly string[]; made?: readonly string[] | undefined },
) {
  const { caller, context, base } = state;
  const schema = requireSchema(state);
  const window = { validFrom, validTo };
  const prepared = await prepare(deps, caller, context, schema, {
    id: base.id,
    given: await withoutMade(deps, schema, storedInput(schema, values), made),
    stored: values,
    createdBy: base.createdBy,
    held: [...state.held.claims, ...(state.held.liveClaims ?? []), ...held],
    publish,
    faults: publish ? windowFaults(window, state.now) : [],
  });
  return { ...prepared, ...window };
}

async function decideNew(deps: Deps, version: Version, state: State): Promise<Decision> {
  const made = await checked(deps, state, version.head, { publish: true, made: version.made });
  return { operation: "create", status: "PUBLISHED", live: "publish", index: "add", ...made };
}

async function decideKnown(deps: Deps, version: Version, state: State): Promise<Decision> {
  const schema = requireSchema(state);
  const { base: newest } = state;
  const current = await currentOf(deps, schema, state);
  const moved = movedAt(version, newest, current);
  if (moved !== undefined) throw movedOn([moved]);
  const isSame = current.seq === version.base?.seq;
  const old = isSame ? current.live : await baseOf(deps, schema, version);
  if (old === null) throw movedOn([""]);
  const merged = isSame
    ? { ...version.head, conflicts: [] }
    : await mergeContent(schema, old, current.live, version.head);
  if (merged.conflicts.length > 0) throw movedOn(merged.conflicts);
  const made = await checked(deps, state, merged, { publish: true, made: version.made });
  const published: Decision = {
    operation: "publish",
    status: "PUBLISHED",
    live: "publish",
    updates: true,
    ...made,
  };
  if (!current.beside) return published;
  // The draft keeps what its author changed in it, and gets all other changes of the set.
  const draft = await mergeContent(schema, current.live, made, newest);
  const isLeft = !equal(draft.values, made.values) || WINDOW.some((name) => draft[name] !== made[name]);
  if (!isLeft) return published;
  const kept = await checked(deps, state, draft, { publish: false, held: made.claims });
  const guarded = new Set(made.guards.map(({ subject }) => subject));
  const guards = kept.guards.filter(({ subject }) => !guarded.has(subject));
  return { ...published, draft: { ...kept, guards, unchanged: false } };
}
