/** Decides all items of a batch, each with the state that the whole batch leaves behind. */
import { type Actor, actorId } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { AppError, Fault } from "../../kernel/errors.ts";
import { budget as ruleBudget } from "../../logic/engine.ts";
import { ReadBudget } from "../../store/budget.ts";
import type { EntrySnapshot, OrbContext, StoredEntry } from "../model/index.ts";
import { type PinnedRequest, ShapeRefusal } from "../pinned/index.ts";
import { readWindow } from "../values/index.ts";
import {
  admitChange,
  type Change,
  deleteChange,
  type NewEntry,
  type Plan,
  planCreation,
  updateChange,
} from "../write/index.ts";
import type { BatchItem, CreateItem, DeleteItem, UpdateItem } from "./items.ts";
import { withIds } from "./items.ts";
import {
  type AdmittedChange,
  Planning,
  type PlanningOptions,
  readStored,
  type Together,
} from "./planning.ts";
import { Refusals } from "./refusals.ts";

/** An item, the entry that it names, and the dependencies of its write. */
export interface Placed extends Together {
  item: BatchItem;
  /** Set if the item has the shape of an earlier revision of the definition. */
  pinned?: PinnedRequest | undefined;
}

/** Returns whether the caller may change the entries of all items, as they are stored now. */
export async function mayChange(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  items: readonly Placed[],
): Promise<boolean> {
  const stored = await readStored(deps, context.orb, items, new ReadBudget());
  const refusals = new Refusals();
  for (const { index, id, item, deps: own } of items) {
    const change =
      "delete" in item
        ? deleteChange(own, actor, { force: true })
        : updateChange(own, { publish: "publish" in item && item.publish === true });
    const entry = stored.get(id)?.entry ?? null;
    await refusals.try(index, () => admitChange(own, actor, context, entry, change));
  }
  return items.every(({ index }) => refusals.of(index) === undefined);
}

/** The decided items of one attempt. */
export class BatchPlanning extends Planning<Placed> {
  readonly #actor: Actor;
  /** Time until which hooks may delay the batch, in milliseconds since the epoch. */
  readonly #until: number;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #rules = ruleBudget(() => this.deps.clock.now());

  constructor(
    deps: Deps,
    actor: Actor,
    context: OrbContext,
    items: readonly Placed[],
    options: PlanningOptions & { until: number },
  ) {
    super(deps, principalIn(actor, context.orb, context.compiled), context, items, options);
    this.#actor = actor;
    this.#until = options.until;
    this.#ids = new Map(
      items.flatMap(({ item, id }) =>
        "create" in item && item.as !== undefined ? [[item.as, id] as const] : [],
      ),
    );
  }

  protected override told({ pinned }: Placed, error: AppError): AppError {
    return pinned?.told(error) ?? error;
  }

  protected override within(one: Placed): Deps {
    return { ...super.within(one), hooksUntil: this.#until };
  }

  #withIds({ schema, pinned }: Placed, values: unknown): unknown {
    const faults: Fault[] = [];
    const named = withIds(pinned?.pair?.old ?? schema, values, this.#ids, faults);
    if (faults.length > 0) throw ShapeRefusal.invalid(faults);
    return named;
  }

  #changeOf(one: Placed): Change {
    const item = one.item as UpdateItem | DeleteItem;
    const when = item.if === undefined ? undefined : { rule: item.if, budget: this.#rules };
    if ("delete" in item) {
      const options = { force: item.force === true, when, shaping: one.pinned?.shaping };
      return deleteChange(this.within(one), this.#actor, options);
    }
    const { update: _, if: __, ifMatch: ___, ...content } = item;
    const values = this.#withIds(one, content.values);
    return updateChange(this.within(one), {
      ...content,
      ...{ values, when, merge: true, shaping: one.pinned?.shaping },
    });
  }

  protected admit(one: Placed, entry: StoredEntry | null): AdmittedChange {
    const change = this.#changeOf(one);
    const admitted = admitChange(one.deps, this.#actor, this.context, entry, change);
    return { change, admitted, ifMatch: (one.item as UpdateItem | DeleteItem).ifMatch };
  }

  #newEntry(one: Placed): NewEntry {
    const { create: _, as: __, ...content } = one.item as CreateItem;
    const values = this.#withIds(one, content.values);
    const { module, id: schema } = one.schema;
    return { ...content, values, module, schema, shaping: one.pinned?.shaping };
  }

  protected planNew(one: Placed): Promise<Plan> {
    const entry = this.#newEntry(one);
    return planCreation(this.within(one), this.caller, this.context, entry, one.id, this.attempt);
  }

  protected showExpected({ schema, id, act, item }: Placed, entry: StoredEntry | null): void {
    if (act === "delete") {
      if (entry === null) return;
      const gone = { ...entry.head, publishedRevision: null, claims: [], liveClaims: null };
      this.overlay.show(schema, { ...gone, status: "DELETED" }, entry.seq);
      return;
    }
    const { publish, ...times } = item as CreateItem | UpdateItem;
    if (entry !== null) {
      const { window } = readWindow(times, entry.head);
      const shown = publish === true ? publishedAs(entry.head.revision + 1, window) : {};
      this.overlay.show(schema, { ...entry.head, ...shown }, entry.seq);
      return;
    }
    const { window } = readWindow(times, { validFrom: null, validTo: null });
    this.overlay.show(
      schema,
      newHead(this.context, schema, id, actorId(this.#actor), publish === true, window),
      0,
    );
  }
}

interface TimeWindow {
  validFrom: string | null;
  validTo: string | null;
}

function publishedAs(revision: number, { validFrom, validTo }: TimeWindow) {
  return { status: "PUBLISHED", publishedRevision: revision, liveFrom: validFrom, liveTo: validTo } as const;
}

/** Returns a new entry as checks of references need it. */
function newHead(
  { orb, revision }: OrbContext,
  schema: CompiledSchema,
  id: string,
  createdBy: string,
  publish: boolean,
  window: TimeWindow,
): EntrySnapshot {
  return {
    v: 1,
    id,
    orb,
    module: schema.module,
    schema: schema.id,
    operation: "create",
    status: "SAVED",
    revision: 1,
    publishedRevision: null,
    publishedSeq: null,
    ...window,
    liveFrom: null,
    liveTo: null,
    ...(publish ? publishedAs(1, window) : {}),
    createdAt: "",
    createdBy,
    updatedAt: "",
    updatedBy: createdBy,
    values: {},
    claims: [],
    liveClaims: null,
    defRevision: revision,
  };
}
