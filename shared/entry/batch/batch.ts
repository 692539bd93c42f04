/**
 * Writes several entries in one atomic batch: all items, or none. Each item is decided like a write of its own, with
 * the same rights, hooks, quotas and checks, but with the state that the whole batch leaves behind.
 */

import type { Actor } from "../../access/actor.ts";
import { principalIn, requireMay } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { type AppError, type Fault, invalid, notFound } from "../../kernel/errors.ts";
import { checkRule } from "../../logic/check.ts";
import { ofOneWrite, releaseGuess } from "../../quotas/guesses.ts";
import { counted } from "../../quotas/write.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import {
  claimedIn,
  type EntrySnapshot,
  type Idempotency,
  type IdempotencyClaim,
  idempotencyClaim,
  LIFETIME_SECONDS,
  type OrbContext,
} from "../model/index.ts";
import type { PinnedItems, PinnedRequest } from "../pinned/index.ts";
import {
  CONTENDED_ATTEMPTS,
  commitTogether,
  inTurn,
  newestIn,
  renewDefinition,
  retryOnConflict,
} from "../write/index.ts";
import type { TogetherDestination } from "./destination.ts";
import { type BatchItem, type Located, locate } from "./items.ts";
import { BatchPlanning, mayChange, type Placed } from "./plan.ts";
import { Refusals } from "./refusals.ts";

export interface BatchInput {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  /** After a conflict, reads the definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
  items: readonly BatchItem[];
  /** Whether to refuse items of modules without automatic routes. */
  routed: boolean;
  idempotency?: Idempotency | undefined;
  /** Set if the items have the shape of an earlier revision of the definition. */
  pinned?: PinnedItems | undefined;
  /** Stores the writes instead of the entries. The dependencies must have the store of the destination. */
  into?: TogetherDestination | undefined;
}

/** What an item has written. */
export interface BatchWritten {
  module: string;
  schema: string;
  id: string;
  revision: number;
  status: EntrySnapshot["status"];
  warnings?: readonly Fault[];
}

export interface BatchResult {
  /** One for each item, in their order. */
  items: BatchWritten[];
  /** Whether this is the stored response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/** The members of a stored result that do not follow from the request. */
type StoredItem = [id: string, revision: number, status: EntrySnapshot["status"]];

interface StoredBatch {
  v: 1;
  body: string;
  items: StoredItem[];
}

/** Milliseconds after the first attempt in which a batch may be decided again, and in which hooks may delay it. */
const BATCH_MS = 15_000;
/** Kinds of errors that a batch may get because the same request was written by an earlier attempt just before. */
const REPLAYED = ["conflict", "precondition", "not_found", "invalid"] as const;

/** Finds what an item writes, by the names of the definition that the caller uses. */
function locateIn(
  context: OrbContext,
  pinned: PinnedItems | undefined,
  item: BatchItem,
  routed: boolean,
): Located & { pinned?: PinnedRequest | undefined } {
  if (pinned === undefined) return locate(context, item, routed);
  const found = locate({ ...context, compiled: pinned.compiled }, item, routed);
  const now = pinned.liveOf(found.schema);
  if (now === undefined) {
    const message = "must be a schema that the orb's current definition still has";
    throw invalid([{ path: `/${found.act}`, code: "unknown_schema", message }]);
  }
  return { ...found, schema: now, pinned: pinned.request(now) };
}

/** Finds the entries of all items. Throws the faults of items that no definition could make valid. */
function place(
  deps: Deps,
  context: OrbContext,
  { items, routed, into, pinned }: BatchInput,
  refusals: Refusals,
): Placed[] {
  const met = new Set<string>();
  const names = new Set<string>();
  const placed: Placed[] = [];
  for (const [index, item] of items.entries()) {
    try {
      const found = locateIn(context, pinned, item, routed);
      if (found.id !== undefined && !isToken(found.id)) throw notFound("entry");
      const id = found.id ?? deps.newId();
      const faults: Fault[] = [];
      if (met.has(id)) {
        const message =
          "must be an entry that no other item names. Put all changes of an entry into one item.";
        faults.push({ path: `/${found.act}`, code: "duplicate", message });
      }
      if ("as" in item && item.as !== undefined) {
        const message = "must be a name that no other item has";
        if (names.has(item.as)) faults.push({ path: "/as", code: "duplicate", message });
        names.add(item.as);
      }
      if ("if" in item && item.if !== undefined) faults.push(...checkRule(item.if, "/if"));
      if (into !== undefined && "publish" in item && item.publish === true) {
        const message = "must not be used together with change";
        faults.push({ path: "/publish", code: "not_applicable", message });
      }
      if (faults.length > 0) throw invalid(faults);
      met.add(id);
      placed.push({ ...found, index, item, id, deps: ofOneWrite(deps) });
    } catch (error) {
      refusals.add(index, error as AppError);
    }
  }
  return placed;
}

/** Throws if the caller may not do an item with any entry, not even with their own. */
function refuseEarly(actor: Actor, context: OrbContext, placed: readonly Placed[], refusals: Refusals): void {
  const caller = principalIn(actor, context.orb, context.compiled);
  for (const { index, act, schema, item } of placed) {
    try {
      const { access } = schema;
      requireMay(caller, act, { access, own: act !== "create" });
      if ("publish" in item && item.publish === true) requireMay(caller, "publish", { access, own: true });
    } catch (error) {
      refusals.add(index, error as AppError);
    }
  }
  refusals.throwAny();
}

function claimMessage(claim: IdempotencyClaim, items: readonly BatchWritten[]): Append {
  const body: StoredBatch = {
    v: 1,
    body: claim.bodies[0] ?? "",
    items: items.map(({ id, revision, status }) => [id, revision, status]),
  };
  return { subject: claim.subject, data: JSON.stringify(body), expect: { seq: 0 }, ttl: LIFETIME_SECONDS };
}

/**
 * Writes the items of a batch, all or none. Repeats the whole batch after a conflict, so that `add` and `if` use the
 * newest revision.
 * @throws AppError the error of the first refused item, with `item` in its data and paths such as `/do/1/values/title`
 */
export async function writeBatch(deps: Deps, actor: Actor, input: BatchInput): Promise<BatchResult> {
  const { orbId, items } = input;
  const first = await input.orb;
  await input.pinned?.use(first);
  const refusals = new Refusals();
  const placed = place(deps, first, input, refusals);
  refusals.throwAny();
  refuseEarly(actor, first, placed, refusals);
  const claim = await idempotencyClaim(deps, actor, orbId, input.idempotency, items);
  const findReplay = async (): Promise<BatchResult | null> => {
    if (claim === undefined) return null;
    const message = await nullIfMissing(deps.store.get(streams.orb(orbId), claim.subject));
    const stored = claimedIn<StoredBatch>(claim, message);
    return stored === null ? null : { items: shown(placed, stored.items), replayed: true };
  };
  let refused = refusals;
  let until = Number.POSITIVE_INFINITY;
  const run = async (attempt: number): Promise<BatchResult> => {
    refused = new Refusals();
    const [context, before] = await Promise.all([
      attempt === 0 ? first : renewDefinition(deps, input),
      findReplay(),
    ]);
    if (before !== null) return before;
    if (attempt > 0) await input.pinned?.use(context);
    const now = attempt === 0 ? placed : replaced(context, input, placed, refused);
    refuseEarly(actor, context, now, refused);
    const options = { refusals: refused, attempt, until, reserves: input.into !== undefined };
    const planned = await new BatchPlanning(deps, actor, context, now, options).run();
    return {
      items: await store(deps, context, input.into, { placed: now, planned, claim }),
      replayed: false,
    };
  };
  const work = async () =>
    inTurn(await turnsOf(deps, actor, first, placed, input.into), () => {
      until = deps.clock.now() + BATCH_MS;
      const options = { attempts: CONTENDED_ATTEMPTS, until, replayed: REPLAYED };
      return retryOnConflict(deps, orbId, run, findReplay, options);
    });
  try {
    const result = await counted(deps, actor, orbId, work, placed.length);
    for (const one of placed) releaseGuess(one.deps);
    return result;
  } catch (error) {
    // A refused item says nothing about the values of the others.
    const isKnown = placed.some(({ index }) => refused.of(index) !== undefined);
    for (const one of placed) releaseGuess(one.deps, isKnown ? refused.of(one.index) : error);
    throw error;
  }
}

/** The decided items of one attempt. */
interface Decided {
  placed: readonly Placed[];
  planned: Awaited<ReturnType<BatchPlanning["run"]>>;
  claim: IdempotencyClaim | undefined;
}

/** Commits the decided items, or stores them in another destination. Returns what became of each. */
async function store(
  deps: Deps,
  context: OrbContext,
  into: TogetherDestination | undefined,
  { placed, planned, claim }: Decided,
): Promise<BatchWritten[]> {
  const shownAs = (snapshots: readonly EntrySnapshot[]) =>
    snapshots.map(({ module, schema, id, revision, status }, at): BatchWritten => {
      const { pinned } = placed[at] ?? {};
      const told = planned[at]?.plan.warnings ?? [];
      const warnings = pinned?.faults(told) ?? told;
      const names = pinned?.names ?? { module, schema };
      return { ...names, id, revision, status, ...(warnings.length === 0 ? {} : { warnings }) };
    });
  const more = (snapshots: readonly EntrySnapshot[]) =>
    claim === undefined ? [] : [claimMessage(claim, shownAs(snapshots))];
  if (into !== undefined) {
    const writes = planned.map(({ write }, at) => {
      const item = placed[at]?.item;
      return { write, force: item !== undefined && "force" in item && item.force === true };
    });
    return shownAs(await into.store(context, writes, more));
  }
  const snapshots = planned.map(({ write }) => newestIn(write));
  const writes = planned.map(({ write }) => write);
  await commitTogether(deps, context, writes, more(snapshots));
  for (const { plan } of planned) await plan.committed?.(deps);
  return shownAs(snapshots);
}

/**
 * Returns the entries of which many clients may make the same change at the same time. A write that waits for one entry
 * keeps the turns of others, so only a caller who may change all of them gets their turns.
 */
async function turnsOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  placed: readonly Placed[],
  into: TogetherDestination | undefined,
): Promise<string[]> {
  if (into !== undefined) return [into.turn];
  const contended = placed.filter(
    ({ item }) => ("add" in item && item.add !== undefined) || ("if" in item && item.if !== undefined),
  );
  if (contended.length > 1 && !(await mayChange(deps, actor, context, contended))) return [];
  return contended.map(({ id }) => `${context.orb}/${id}`);
}

/** Returns the items under a newer definition. */
function replaced(
  context: OrbContext,
  { routed, pinned }: BatchInput,
  placed: readonly Placed[],
  refusals: Refusals,
): Placed[] {
  return placed.flatMap((one) => {
    try {
      return [{ ...one, ...locateIn(context, pinned, one.item, routed), id: one.id }];
    } catch (error) {
      refusals.add(one.index, error as AppError);
      return [];
    }
  });
}

function shown(placed: readonly Placed[], stored: readonly StoredItem[]): BatchWritten[] {
  return stored.map(([id, revision, status], at) => {
    const { pinned, schema: now } = placed[at] ?? {};
    const names = pinned?.names ?? { module: now?.module ?? "", schema: now?.id ?? "" };
    return { ...names, id, revision, status };
  });
}
