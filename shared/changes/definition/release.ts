/**
 * Publishes the definition of a change set together with its entries. The stored definition waits in the record of the
 * live one (`next`); the batch that publishes the set also replaces the fence, and decides with its last message that
 * the definition is live. So all readers of the application's stream see the entries and the definition at one sequence
 * number. The history of the orb has a revision that says that a publication is under way, so that no other one takes
 * its number. See `settleAwaited` for what follows an interruption.
 */
import { type Actor, actorId } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import { type CompiledOrb, compileOrb } from "../../definition/compile.ts";
import { changeLog } from "../../definition/document/index.ts";
import type { Fence } from "../../definition/live-orb.ts";
import {
  appendRecord,
  deciding,
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  fenceOf,
  giveFence,
  isAwaiting,
  isReconciled,
  liveRecord,
  mayBeRunning,
  moveFence,
  type NextDefinition,
  nextRevision,
  orbHead,
  putNext,
  requireWhole,
  type StoredLiveRecord,
  settleAwaited,
  UNFENCED,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import {
  type Attempts,
  changeFor,
  closeFor,
  followPublication,
  type Judged,
  judgeOnce,
  PATIENCE,
} from "../../orb/change.ts";
import { reconcileOrb, reopen } from "../../orb/migrate/index.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { keepingRemoved } from "./back.ts";
import { type DefinitionItem, definitionMovedOn, findProposal, type Proposal } from "./proposal.ts";

function hasDraft(): AppError {
  const detail =
    "The orb has a draft of its definition that is not published. Publish it first, or take it back with POST …/revert.";
  return new AppError("conflict", "definition_draft", detail);
}

/** Newer revisions that are read before the publication begins. The batch itself checks each entry. */
const NEWER = 256;

/** The publication of the definition of a set, in one attempt. */
export class Release {
  readonly #deps: Deps;
  readonly #set: string;
  readonly #head: ExistingOrb;
  readonly #stored: StoredLiveRecord;
  readonly #judged: Judged;
  readonly #attempts: Attempts;
  #next: NextDefinition;
  /** Sequence number of the application's stream before the entries were planned. */
  readonly #seq: number;
  #intended = false;
  #fence: Fence | undefined;
  /** The definition under which the entries are published. It keeps the schemas that it removes, to delete their entries. */
  readonly context: OrbContext;
  /** The definition as it will be. */
  readonly compiled: CompiledOrb;

  constructor(
    deps: Deps,
    {
      set,
      head,
      stored,
      judged,
      attempts,
      live,
      next,
      seq,
    }: {
      set: string;
      head: ExistingOrb;
      stored: StoredLiveRecord;
      judged: Judged;
      attempts: Attempts;
      live: OrbContext;
      next: NextDefinition;
      seq: number;
    },
  ) {
    this.#deps = deps;
    this.#set = set;
    this.#head = head;
    this.#stored = stored;
    this.#judged = judged;
    this.#attempts = attempts;
    this.#next = next;
    this.#seq = seq;
    const { document, names, revision } = judged.to;
    this.compiled = compileOrb(document, names);
    const compiled = keepingRemoved(live.compiled, this.compiled);
    this.context = {
      orb: live.orb,
      revision,
      compiled,
      fence: fenceOf(stored.record),
      pending: live.pending,
    };
  }

  get #orb(): string {
    return this.context.orb;
  }

  /** What the content of the published set says of its definition. */
  done(item: DefinitionItem): DefinitionItem {
    return { ...item, done: { revision: this.context.revision } };
  }

  /** Throws a conflict if an entry was written since the publication was prepared, so that it leaves no trace. */
  async #requireUnchanged(entries: readonly EntryAddress[]): Promise<void> {
    const logs = new Set(entries.map((address) => subjects.entryLog(address)));
    const schemas = new Set(entries.map((address) => subjects.schemaLogs(address)));
    const options = { fromSeq: this.#seq + 1, limit: NEWER, maxBytes: READ_BYTES };
    const pages = await Promise.all(
      [...schemas].map((filter) => this.#deps.store.scan(streams.orb(this.#orb), filter, options)),
    );
    if (pages.some(({ messages }) => messages.some(({ subject }) => logs.has(subject)))) throw new Conflict();
  }

  /** Says in the history of the orb that the publication is under way, and blocks writes if the definition needs it. */
  async #intend(): Promise<void> {
    const deps = this.#deps;
    const orb = this.#orb;
    const closed = await closeFor(deps, orb, this.#judged);
    this.#fence = closed?.fence;
    // Another attempt checks only the entries that are written until then.
    this.#attempts.judged = this.#judged;
    // Others leave the publication alone for a moment from now on.
    const now = deps.clock.now();
    this.#next = { ...this.#next, at: new Date(now).toISOString() };
    const { id, by } = this.#next;
    const act = { operation: "change", by, now } as const;
    const summary = [`publishes change set ${this.#set}`];
    const intent = nextRevision(this.#head, act, { summary, awaits: { id, set: this.#set } });
    await appendRecord(deps, orb, intent, this.#head.seq, closed === undefined ? [] : [closed.guard]);
    this.#intended = true;
  }

  /**
   * Blocks writes of entries until the publication ends. Call this before the entries are planned, if others keep changing
   * them.
   */
  async block(): Promise<void> {
    await this.#intend();
    const { record } = this.#stored;
    this.#fence ??= await moveFence(this.#deps, this.#orb, record.fence, this.context.revision);
  }

  /**
   * Stores that the definition waits for the batch of the set. Call this last before the batch.
   * @param entries the entries of the batch
   * @returns the last messages of the batch
   * @throws Conflict if the orb or its entries have changed
   */
  async begin(entries: readonly EntryAddress[]): Promise<Append[]> {
    if (!this.#intended) {
      await this.#requireUnchanged(entries);
      await this.#intend();
    }
    await putNext(this.#deps, this.#stored, this.#next);
    return deciding(this.#orb, this.#fence ?? this.#stored.record.fence ?? UNFENCED, this.#next);
  }

  /** Completes the publication after the batch. */
  async finish(): Promise<void> {
    await followPublication(this.#deps, this.#orb);
  }

  /** Lets others go on after a failure, or completes the publication if the broker has stored the batch after all. */
  async giveUp(): Promise<void> {
    try {
      if (this.#intended) await settleAwaited(this.#deps, this.#orb, true);
      else if (this.#fence !== undefined) await reopen(this.#deps, this.#orb);
    } catch (error) {
      this.#deps.log.warn(
        "the publication of a definition was not withdrawn yet; the next change withdraws it",
        {
          orb: this.#orb,
          error: String(error),
        },
      );
    }
  }
}

/** Waits for another publication that is under way, or ends it. @throws Conflict */
async function waitForOther(deps: Deps, orb: string, isRunning: boolean, attempt: number): Promise<never> {
  if (!isRunning || attempt >= PATIENCE) await settleAwaited(deps, orb, true);
  throw new Conflict();
}

interface ReleaseInput {
  set: string;
  item: DefinitionItem;
  attempt: number;
  /** What the attempts of the publication have found. */
  attempts: Attempts;
}

/**
 * Prepares the publication of the definition of a set: checks that stored entries fit it, and builds its new indexes.
 * @param live the definition that serves
 * @returns undefined if the definition is live already
 * @throws AppError forbidden; `definition_conflict`, `definition_draft`; what a publication of an orb throws
 * @throws Conflict if the orb has changed meanwhile
 */
export async function prepareRelease(
  deps: Deps,
  actor: Actor,
  live: OrbContext,
  { set, item, attempt, attempts }: ReleaseInput,
): Promise<Release | undefined> {
  const { orb } = live;
  requireOperator(actor, "orbs.write", orb);
  const [head, stored, read] = await Promise.all([
    orbHead(deps, orb),
    liveRecord(deps, orb),
    findProposal(deps, orb, set),
  ]);
  if (!exists(head)) throw notFound("orb");
  if (stored === null || read === null || read.proposal.revision !== item.revision) throw new Conflict();
  if (isAwaiting(head, stored.record)) return waitForOther(deps, orb, mayBeRunning(deps, head), attempt);
  if (!isReconciled(head, stored.record)) {
    await reconcileOrb(deps, orb, head);
    throw new Conflict();
  }
  const { proposal } = read;
  const { base } = proposal;
  if (head.publishedRevision !== base) throw definitionMovedOn(base, head.publishedRevision);
  const from = await entryDefinitionOf(deps, orb, head);
  if (!equal(from.document, head.document)) throw hasDraft();
  if (live.revision !== base) throw new Conflict();
  requireWhole(orb, fenceOf(stored.record));
  if (stored.record.fence === undefined) {
    await giveFence(deps, stored);
    throw new Conflict();
  }
  // The revision before says that the publication is under way.
  const before = { ...head, revision: head.revision + 1 };
  const judged = await judgeOnce(deps, orb, before, wantedOf(proposal), attempts);
  if (judged === null) return undefined;
  const next: NextDefinition = {
    id: deps.newId(),
    set,
    incarnation: stored.record.fence.incarnation,
    revision: judged.to.revision,
    at: new Date(deps.clock.now()).toISOString(),
    by: actorId(actor),
    change: {
      document: proposal.document,
      ...changeLog(from.document, proposal.document),
      ...changeFor(judged),
    },
  };
  const seq = (await deps.store.streamInfo(streams.orb(orb)))?.state.last_seq ?? 0;
  return new Release(deps, { set, head, stored, judged, attempts, live, next, seq });
}

const wantedOf = ({ document, names, force }: Proposal) => ({ document, names, force: force === true });
