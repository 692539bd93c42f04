/** Moves values between the entries of two schemas before a new definition is active: splits and joins. */
import type { Step } from "../../definition/changes.ts";
import { homeKey, homeOf } from "../../definition/document/index.ts";
import type { Fence } from "../../definition/live-orb.ts";
import type { Retired } from "../../definition/retired.ts";
import type { Deps } from "../../deps.ts";
import { examineSplit, Join, type LossyEntries, Split, type StepOf } from "../../entry/migrate/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { indexBytes } from "../../store/budget.ts";
import { nullIfMissing, scanPages } from "../../store/pages.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import { contextOf, type Definition, SplitMark } from "./unfinished.ts";

/** A change that may move values between the entries of two schemas. */
interface StepChange {
  home: Home;
  step?: Step;
  message: string;
  entries: number;
  forceable: boolean;
  refused: boolean;
  lossy?: LossyEntries;
  makes?: number;
}

/** A step that a publication does. */
export interface Stepping {
  /** Does the step for all entries. @param fence the fence that writes expect now */
  all(fence: Fence | undefined): Promise<void>;
  /** Removes what an interrupted publication has left. Call it after all steps are done for all entries. */
  clean?(fence: Fence | undefined): Promise<void>;
  /** Does it for the entries that were written after a sequence number. */
  changed(fence: Fence | undefined, since: number): Promise<void>;
  /** Returns whether no other process has taken the publication for interrupted. */
  isOwn?(): Promise<boolean>;
  /** Erases what the step has made, because the publication is refused. */
  withdraw?(): Promise<void>;
}

/**
 * Finds what the steps of a publication do, and refuses those that would lose something. A removal of a schema is no
 * loss if all its entries become objects.
 * @param definitions.retired removed schemas that had entries
 */
export async function examineSteps(
  deps: Deps,
  orb: string,
  changes: readonly StepChange[],
  definitions: { from: Definition; to: Definition; retired: readonly Retired[] },
): Promise<Stepping[]> {
  const steps: Stepping[] = [];
  if (changes.every(({ step }) => step === undefined)) return steps;
  const { retired } = definitions;
  const made = new Map<string, MadeEntries>();
  const [from, to] = [contextOf(orb, definitions.from), contextOf(orb, definitions.to)];
  for (const change of changes) {
    const { step, home } = change;
    if (step === undefined || change.refused) continue;
    const place = { step, home, from, to };
    if ((await isPending(deps, orb, home)) || (await isPending(deps, orb, step.target))) {
      change.refused = true;
      change.message += ` ${PENDING}`;
      continue;
    }
    const stepping =
      step.kind === "split"
        ? await planSplit(deps, place, change, { made, retired, definition: definitions.to })
        : await planJoin(deps, place, change, changes);
    steps.push({
      ...stepping,
      async changed(fence, since) {
        await requireNotPending(deps, orb, change);
        await stepping.changed(fence, since);
      },
    });
  }
  return steps;
}

/** The entries that the splits of a publication make for a schema. */
interface MadeEntries {
  ids: Set<string>;
  /** Undefined if the schema had entries before. */
  mark: SplitMark | undefined;
}

/**
 * @param made for each schema, the entries that the splits of this publication make
 * @param retired removed schemas that had entries
 */
async function planSplit(
  deps: Deps,
  place: StepOf,
  change: StepChange,
  {
    made,
    retired,
    definition,
  }: { made: Map<string, MadeEntries>; retired: readonly Retired[]; definition: Definition },
): Promise<Stepping> {
  const { makes, lossy } = await examineSplit(deps, place);
  change.makes = makes;
  change.message += ` The publication makes ${makes} ${makes === 1 ? "entry" : "entries"}.`;
  refuse(change, lossy);
  const target = homeKey(place.step.target);
  const isNew = !retired.some((one) => one.whole && homeKey(homeOf(one.moduleType, one.schema)) === target);
  const first = {
    ids: new Set<string>(),
    mark: isNew ? new SplitMark(deps, place.to.orb, place.step.target, definition) : undefined,
  };
  const { ids, mark } = made.get(target) ?? first;
  made.set(target, { ids, mark });
  const split = new Split(deps, place, ids, async () => mark?.renew());
  const by = (fence: Fence | undefined) => ({ ...place.to, fence });
  return {
    async all(fence) {
      await mark?.begin();
      await again(split.makeAll(by(fence)));
    },
    ...(mark === undefined
      ? {}
      : {
          clean: (fence) => again(split.removeOthers(by(fence))),
          isOwn: () => mark.isOwn(),
          withdraw: () => mark.withdraw(),
        }),
    changed: (fence, since) => again(split.makeChanged(by(fence), since)),
  };
}

/** Accepts the removal of a schema in the changes, if all its entries become objects. */
async function planJoin(
  deps: Deps,
  place: StepOf,
  change: StepChange,
  changes: readonly StepChange[],
): Promise<Stepping> {
  const join = new Join(deps, place);
  const { lossy, joined } = await join.examine();
  refuse(change, lossy);
  const target = homeKey(place.step.target);
  for (const removal of changes) {
    const isLossless = homeKey(removal.home) === target && removal.entries === joined.size;
    if (!removal.forceable || !removal.refused || !isLossless) continue;
    removal.refused = false;
    join.takeAll(joined);
  }
  const by = (fence: Fence | undefined) => ({ ...place.from, fence });
  return {
    all: (fence) => again(join.joinAll(by(fence))),
    changed: (fence, since) => again(join.joinChanged(by(fence), since)),
  };
}

function refuse(change: StepChange, lossy: LossyEntries | undefined): void {
  if (lossy === undefined) return;
  change.lossy = lossy;
  change.refused = true;
}

/** States in which a change set is not published any more. */
const OVER: ReadonlySet<unknown> = new Set(["PUBLISHED", "REVERTED", "CLOSED"]);
const PAGE = 1_000;

const PENDING = "An open change set has such entries. Publish or close it first.";

/** Throws if an entry that a step changes was written into a change set meanwhile. */
async function requireNotPending(
  deps: Deps,
  orb: string,
  { home, step, message }: StepChange,
): Promise<void> {
  const homes = step === undefined ? [home] : [home, step.target];
  for (const one of homes)
    if (await isPending(deps, orb, one))
      throw new AppError("conflict", "incompatible_change", `${message} ${PENDING}`);
}

/** Returns whether an open change set has an entry of a schema. */
async function isPending(deps: Deps, orb: string, home: Home): Promise<boolean> {
  const stream = streams.orb(orb);
  const filter = subjects.changeVersionsIn({ orb, ...home });
  const page = async (fromSeq: number) =>
    (await nullIfMissing(
      deps.store.scan(stream, filter, { fromSeq, limit: PAGE, maxBytes: indexBytes(PAGE) }),
    )) ?? {
      messages: [],
      pending: 0,
    };
  const known = new Set<string>();
  for await (const messages of scanPages(page)) {
    for (const { subject, size } of messages) {
      const set = subject.split(".")[2];
      if (size === 0 || set === undefined || known.has(set)) continue;
      known.add(set);
      const record = await deps.store.get(stream, subjects.changeRecord(orb, set));
      if (record !== null && !OVER.has(record.json<{ state?: unknown }>().state)) return true;
    }
  }
  return false;
}

/** Throws a conflict if another process has moved the fence, so that the publication begins again. */
async function again(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (error instanceof AppError && error.code === "write_conflict") throw new Conflict();
    throw error;
  }
}
