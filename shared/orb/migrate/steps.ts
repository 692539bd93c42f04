/** Moves values between the entries of two schemas before a new definition is active: splits and joins. */
import type { Step } from "../../definition/changes.ts";
import { compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/document.ts";
import { homeKey, homeOf } from "../../definition/document/home.ts";
import type { Fence } from "../../definition/live-orb.ts";
import type { StoredNames } from "../../definition/names/stored-names.ts";
import type { Retired } from "../../definition/retired.ts";
import type { Deps } from "../../deps.ts";
import { Join } from "../../entry/migrate/join.ts";
import type { LossyEntries } from "../../entry/migrate/publishing.ts";
import { examineSplit, Split } from "../../entry/migrate/split.ts";
import { nullIfMissing, type OrbContext } from "../../entry/model/resolve.ts";
import { AppError } from "../../kernel/errors.ts";
import { indexBytes } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";

interface Definition {
  /** Missing if the definition is not published yet. */
  revision?: number;
  document: OrbDocument;
  names: StoredNames | undefined;
}

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
}

/** Returns a definition for writes that call no hooks. */
function contextOf(orb: string, { document, names, revision }: Definition): OrbContext {
  const { hooks: _, ...quiet } = document;
  return { orb, revision: revision ?? UNNUMBERED, compiled: compileOrb(quiet, names) };
}

/**
 * Revision of a definition that is not published yet, and that another document may get. So the index keys of the new
 * entries count as those of an earlier definition.
 */
const UNNUMBERED = 0;

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
  const made = new Map<string, Set<string>>();
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
    if (step.kind === "split") {
      const { makes, lossy } = await examineSplit(deps, place);
      change.makes = makes;
      change.message += ` The publication makes ${makes} ${makes === 1 ? "entry" : "entries"}.`;
      refuse(change, lossy);
      const isNew = !retired.some(
        (one) => one.whole && homeKey(homeOf(one.moduleType, one.schema)) === homeKey(step.target),
      );
      const target = homeKey(step.target);
      const known = made.get(target) ?? new Set();
      made.set(target, known);
      const split = new Split(deps, place, known);
      steps.push({
        all: (fence) => again(split.makeAll({ ...to, fence })),
        ...(isNew ? { clean: (fence) => again(split.removeOthers({ ...to, fence })) } : {}),
        async changed(fence, since) {
          await requireNotPending(deps, orb, change);
          await again(split.makeChanged({ ...to, fence }, since));
        },
      });
    } else {
      const join = new Join(deps, place);
      const { lossy, joined } = await join.examine();
      refuse(change, lossy);
      for (const removal of changes)
        if (
          removal.forceable &&
          removal.refused &&
          homeKey(removal.home) === homeKey(step.target) &&
          removal.entries === joined.size
        ) {
          removal.refused = false;
          join.takeAll(joined);
        }
      steps.push({
        all: (fence) => again(join.joinAll({ ...from, fence })),
        async changed(fence, since) {
          await requireNotPending(deps, orb, change);
          await again(join.joinChanged({ ...from, fence }, since));
        },
      });
    }
  }
  return steps;
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
