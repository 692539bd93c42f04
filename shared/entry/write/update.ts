import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { next, type Status } from "../../definition/document/index.ts";
import { rootOf } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { publishedOf, publishMessages } from "../index/index.ts";
import { type EntrySnapshot, hasDraft, type Origin, readableIn, storedInput } from "../model/index.ts";
import { type Shape, ShapeRefusal, type Shaping } from "../pinned/index.ts";
import {
  admitted,
  asAdded,
  holdsMask,
  keepingHidden,
  merged,
  readWindow,
  type Sender,
  type Window,
  windowFaults,
  withLiveMembers,
  withSums,
} from "../values/index.ts";
import { changeEntry, type Target, type Written } from "./change.ts";
import type { Change, Decision, State } from "./change-write.ts";
import { type Condition, requireCondition, requireNewest } from "./condition.ts";
import { type ReadBefore, withoutFallback } from "./fallback.ts";
import { type Prepared, prepare } from "./prepare.ts";

/** What an update changes. */
export interface UpdateContent {
  /** Values of the entry: only the values to change if `locale` or `market` is set, otherwise all values. */
  values?: unknown;
  /** Whether to write nothing if the newest revision already has these values, `validFrom` and `validTo`. */
  skipsUnchanged?: boolean | undefined;
  /** Whether `values` is a JSON Merge Patch of the stored values. */
  merge?: boolean | undefined;
  /**
   * With `merge`: numbers to add to the stored values, by field name. The caller must be permitted to read the newest
   * revision.
   */
  add?: unknown;
  /** A rule (JsonLogic) over the newest revision. If it is not true, the update is refused. */
  when?: Condition | undefined;
  /** Time from which the entry is visible: ISO 8601, or null for no limit. If omitted, it does not change. */
  validFrom?: unknown;
  validTo?: unknown;
  publish?: boolean | undefined;
  locale?: string | undefined;
  market?: string | undefined;
  /** Where an imported entry comes from. The caller must check the right to import. */
  origin?: Origin | undefined;
  /**
   * What the request says of the response that it was made from. If set, values that a response filled in from another
   * language or market are not stored.
   */
  read?: ReadBefore;
  /**
   * Properties that identify the entry, such as its schema. If the client sends them, they must match the URL path,
   * because an update cannot move an entry.
   */
  place?: Partial<Record<(typeof PLACE)[number], unknown>>;
  /** Set if `values` have the shape of an earlier revision of the definition. */
  shaping?: Shaping | undefined;
}

export type UpdateInput = Target & UpdateContent;

const PLACE = ["id", "orb", "module", "schema"] as const;

function placeFaults(input: UpdateContent, schema: CompiledSchema, base: EntrySnapshot): Fault[] {
  const faults: Fault[] = [];
  const is = { id: base.id, orb: base.orb, module: base.module, schema: schema.id };
  for (const name of PLACE) {
    const sent = input.place?.[name];
    if (sent === undefined || sent === is[name]) continue;
    // The schema may have been renamed since the client read the entry. So also accept the old id.
    if (name === "schema" && sent === base.schema) continue;
    const message =
      name === "id"
        ? "must be the id in the path. Remove it, or send the id in the path."
        : `must be "${is[name]}", because an entry cannot be moved. Remove this property or send that value.`;
    faults.push({ path: `/${name}`, code: "immutable", message });
  }
  const { values, add, validFrom, validTo, publish } = input;
  if (
    values === undefined &&
    add === undefined &&
    validFrom === undefined &&
    validTo === undefined &&
    publish !== true
  ) {
    faults.push({
      path: "/values",
      code: "required",
      message: "is required, because nothing else in the body changes the entry",
    });
  }
  return faults;
}

export function requireSchema(state: State): CompiledSchema {
  if (state.schema !== undefined) return state.schema;
  throw new AppError(
    "conflict",
    "schema_gone",
    "The orb's definition no longer has this entry's schema. You can only archive or delete the entry.",
  );
}

export function statusOf(snapshot: EntrySnapshot): Exclude<EntrySnapshot["status"], "DELETED"> {
  if (snapshot.status === "DELETED")
    throw new AppError("not_found", "entry_not_found", "The entry has been deleted. Create a new one.");
  return snapshot.status;
}

/** Returns the state after an update. An import may also change an entry that stays archived. */
function stateAfter(status: Status, origin: Origin | undefined): Status {
  if (status === "ARCHIVED" && origin?.status === "ARCHIVED") return status;
  // A draft that was never published cannot be unpublished.
  if (status === "SAVED" && origin?.status === "UNPUBLISHED") return next(status, "unpublish");
  return next(status, "update");
}

/** Returns whether a request only publishes what is stored: it names no value and no time. */
function onlyPublishes({ publish, values, add, validFrom, validTo }: UpdateContent): boolean {
  const changes = [values, add, validFrom, validTo].some((each) => each !== undefined);
  return publish === true && !changes;
}

/** What a request makes of one stored revision. */
interface Applied {
  given: unknown;
  /** The stored values that masks in `given` stand for. */
  stored: EntrySnapshot["values"];
  /** The revision that the request changes. */
  from: EntrySnapshot;
  /** The values of the request, without those that it does not name. */
  named?: unknown;
  window: Window;
  faults: Fault[];
}

/**
 * Applies a request to the newest revision, or to the published one.
 * @param from the values that stay where the request names none
 * @param masked the values that masks in the request stand for
 */
function applied(
  { caller }: State,
  schema: CompiledSchema,
  input: UpdateContent,
  from: EntrySnapshot,
  masked: EntrySnapshot["values"] = from.values,
): Applied {
  const { validFrom, validTo, locale, market } = input;
  const { window, faults } = readWindow({ validFrom, validTo }, from);
  const { createdBy } = from;
  const sender = { caller, createdBy };
  const place = { locale, market };
  const readable = input.add === undefined ? schema : readableIn(schema, caller, createdBy);
  const values = withSums(readable, input, from.values, faults);
  if (values === undefined && locale === undefined && market === undefined)
    return { given: storedInput(schema, from.values), stored: from.values, from, window, faults };
  const named = values === undefined ? {} : values;
  const sent = input.merge === true ? merged(schema, sender, named, from.values, place, faults) : named;
  const { given, faults: refused } = admitted(schema, sender, sent, masked, place);
  return { given, stored: masked, from, named, window, faults: [...faults, ...refused] };
}

/**
 * Returns a request in the shape of an earlier revision as one that names all values in the live shape, and the values
 * that it changes.
 * @param from the revision that the request changes
 * @returns also `tell`, which makes the faults that follow name the positions of items in this request
 */
function inLiveShape(
  { caller }: State,
  schema: CompiledSchema,
  input: UpdateContent,
  from: EntrySnapshot,
  shape: Shape,
): { input: UpdateContent; changed: Record<string, unknown>; tell: () => void } {
  const { values: given, add, merge = false, locale, market } = input;
  if ((given ?? add) === undefined && (locale ?? market) === undefined)
    return { input, changed: {}, tell: () => {} };
  const { createdBy, values: base } = from;
  const faults: Fault[] = [];
  const sent =
    add === undefined
      ? given
      : withShownSums(shape, readableIn(schema, caller, createdBy), input, base, faults);
  if (faults.length > 0) throw ShapeRefusal.invalid(faults);
  const { values, changed, positions } = shape.toLive({
    ...{ sender: { caller, createdBy }, sent: sent ?? {}, locale, market, base },
    merge: merge || given === undefined,
  });
  const none = { add: undefined, locale: undefined, market: undefined };
  const shaped = { ...input, ...none, values, merge: false };
  return { input: shaped, changed, tell: () => shape.tell(positions) };
}

/** Returns the values of a request with the sums that `add` makes of what an earlier revision shows. */
function withShownSums(
  shape: Shape,
  readable: CompiledSchema,
  { values, add }: UpdateContent,
  stored: EntrySnapshot["values"],
  faults: Fault[],
): unknown {
  return withSums(shape.view(readable), { values, add }, shape.shown(readable, stored), faults);
}

/**
 * Refuses masks in a request that changes both the draft and the published revision, because it does not say which of
 * their values a mask stands for.
 * @throws ShapeRefusal conflict `shape_conflict`
 */
function refuseMasks(values: unknown): void {
  if (!isObject(values)) return;
  const message =
    "must not be the mask, because the entry is live and has a newer draft, which may have another value. Omit the field, or send the value.";
  const faults = Object.entries(values).flatMap(([name, value]): Fault[] =>
    holdsMask(value) ? [{ path: `/values/${escapeSegment(name)}`, code: "mask", message }] : [],
  );
  if (faults.length > 0) throw ShapeRefusal.masks(faults);
}

/** Returns the faults of items that values must not lack, because the caller may not set members of the items. */
function removalFaults(
  schema: CompiledSchema,
  sender: Sender,
  values: Readonly<Record<string, unknown>>,
  stored: EntrySnapshot["values"],
): Fault[] {
  const faults: Fault[] = [];
  keepingHidden(schema, sender, values, storedInput(schema, stored), faults);
  return faults;
}

/** Returns whether two results of a request have the same values, also behind their masks. */
function sameResult(schema: CompiledSchema, one: Applied, other: Applied): boolean {
  const { given } = one;
  return (
    equal(given, other.given) &&
    equal(one.window, other.window) &&
    schema.sensitive.every((field) => {
      const { name } = rootOf(field);
      return !isObject(given) || !holdsMask(given[name]) || equal(one.stored[name], other.stored[name]);
    })
  );
}

/**
 * Returns the result for the published revision. If a `PUT` replaces all values, a mask in it stands for the value of
 * the newest revision, which the client has read. All other values that the request does not name are the live ones.
 */
function appliedToLive(
  state: State,
  schema: CompiledSchema,
  input: UpdateContent,
  live: EntrySnapshot,
): Applied {
  const { values, locale, market, merge } = input;
  const replaces = isObject(values) && merge !== true && (locale ?? market) === undefined;
  if (!replaces) return applied(state, schema, input, live);
  const { base, caller } = state;
  const sender = { caller, createdBy: base.createdBy };
  const draft = withLiveMembers(schema, sender, base.values, live.values, values);
  const read = Object.entries(draft).filter(([name]) => Object.hasOwn(values, name));
  const unread = Object.entries(live.values).filter(([name]) => !Object.hasOwn(values, name));
  return applied(state, schema, input, live, Object.fromEntries([...unread, ...read]));
}

/**
 * Appends a new revision, and publishes it in the same atomic write if requested. A publication concerns only what the
 * request names: if the entry is live and has a newer draft, the request is applied to both, and the draft stays one.
 */
export function updateEntry(deps: Deps, actor: Actor, given: UpdateInput): Promise<Written> {
  const own = ofOneWrite(deps);
  return changeEntry(own, actor, given, updateChange(own, given));
}

interface Checking {
  publish: boolean;
  faults?: readonly Fault[];
  held?: readonly string[];
}

/** Validates the result of a request. */
async function checkedResult(
  deps: Deps,
  state: State,
  schema: CompiledSchema,
  result: Applied,
  as: Checking,
) {
  const { id, createdBy } = state.base;
  const { given: sent, stored, from, named, window } = result;
  const faults = [...result.faults, ...(as.faults ?? [])];
  if (as.publish) faults.push(...windowFaults(window, state.now));
  const held = [...state.held.claims, ...(state.held.liveClaims ?? []), ...(as.held ?? [])];
  const prepared = await prepare(deps, state.caller, state.context, schema, {
    ...{ id, given: sent, createdBy, stored, held, faults, publish: as.publish },
    from: [from.values, named],
    keeps: (values) => removalFaults(schema, { caller: state.caller, createdBy }, values, stored),
  });
  return { ...prepared, ...window };
}

/** Returns the values of a request, without those that a response filled in from another language or market. */
async function sentValues(
  deps: Deps,
  state: State,
  schema: CompiledSchema,
  given: UpdateContent,
  shape: Shape | undefined,
): Promise<unknown> {
  const { read, values } = given;
  if (read === undefined) return values;
  const readable = readableIn(schema, state.caller, state.base.createdBy);
  const shown = shape && ((stored: EntrySnapshot["values"]) => shape.shown(readable, stored));
  return withoutFallback(deps, state, shape?.view(readable) ?? readable, values, given, read, shown);
}

/** Returns the change that an update is. */
export function updateChange(deps: Deps, given: UpdateContent): Change {
  const publish = given.publish === true;
  const { validFrom, validTo, locale, market } = given;
  const checked = (state: State, schema: CompiledSchema, result: Applied, as: Checking) =>
    checkedResult(deps, state, schema, result, as);
  const { values, add } = given;
  const sent = [values, add].filter(isObject);
  // The definition may change between two attempts.
  let shapeNow: Shape | undefined;
  return {
    acts: publish ? ["update", "publish"] : ["update"],
    request: { values, ...(add === undefined ? {} : { add }), validFrom, validTo, locale, market, publish },
    ...(given.skipsUnchanged === true ? { skipsUnchanged: true } : {}),
    sent,
    contended: add !== undefined || given.when !== undefined,
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    decide: asAdded(
      add,
      async (state) => {
        const schema = requireSchema(state);
        const { base } = state;
        // The faults of a sum, such as that it is too large, tell the caller the stored number.
        if (add !== undefined) requireNewest(state, schema);
        const shape = await given.shaping?.(state.context, schema);
        shapeNow = shape;
        if (given.when !== undefined) requireCondition(state, schema, given.when, shape);
        const plain = { ...given, values: await sentValues(deps, state, schema, given, shape) };
        const shaped = shape && inLiveShape(state, schema, plain, base, shape);
        const input = shaped?.input ?? plain;
        if (shaped !== undefined) sent.splice(0, sent.length, shaped.changed);
        const status = stateAfter(statusOf(base), given.origin);
        const faults = placeFaults(input, schema, base);
        const newest = applied(state, schema, input, base);
        const operation = publish ? "publish" : "update";
        const all = {
          operation,
          status: publish ? "PUBLISHED" : status,
          live: publish ? "publish" : "keep",
          updates: publish,
          origin: given.origin,
        } as const;
        const beside = publish && !onlyPublishes(given) && hasDraft(base);
        const live = beside
          ? await publishedOf(deps, schema, { head: base, address: state.entry.address })
          : null;
        if (live !== null && shape !== undefined) refuseMasks(plain.values);
        const shapedLive =
          live === null ? undefined : shape && inLiveShape(state, schema, plain, live, shape);
        const shown =
          live === null
            ? newest
            : shapedLive === undefined
              ? appliedToLive(state, schema, input, live)
              : applied(state, schema, shapedLive.input, live);
        if (live === null || sameResult(schema, newest, shown)) {
          shaped?.tell();
          return { ...all, ...(await checked(state, schema, newest, { publish, faults })) };
        }
        shapedLive?.tell();
        const published = await checked(state, schema, shown, { publish, faults });
        shaped?.tell();
        const draft = await checked(state, schema, newest, { publish: false, held: published.claims });
        return { ...all, ...published, draft: draftBeside({ made: published, live }, { made: draft, base }) };
      },
      (error) => shapeNow?.error(error) ?? error,
    ),
  };
}

type Made = Prepared & Window;

/**
 * Returns the draft that stays beside a publication. It does not repeat the guards of the publication.
 * @param published.live the revision that was live before
 * @param draft.base the newest revision
 */
export function draftBeside(
  published: { made: Made; live: EntrySnapshot | null },
  draft: { made: Made; base: EntrySnapshot },
): NonNullable<Decision["draft"]> {
  const { made, live } = published;
  const guarded = new Set(made.guards.map(({ subject }) => subject));
  return {
    ...draft.made,
    guards: draft.made.guards.filter(({ subject }) => !guarded.has(subject)),
    unchanged: live !== null && isStored(made, live) && isStored(draft.made, draft.base),
  };
}

/** Returns whether a stored revision already has these values and this window. */
export function isStored(made: Pick<EntrySnapshot, "values" | keyof Window>, stored: EntrySnapshot): boolean {
  const { values, validFrom, validTo } = stored;
  return equal(made.values, values) && made.validFrom === validFrom && made.validTo === validTo;
}
