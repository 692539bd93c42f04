import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { changeLog, isOrbId, type Status } from "../definition/document/index.ts";
import type { StreamLoss } from "../definition/live-orb.ts";
import {
  type ExistingOrb,
  exists,
  findRevision,
  headOf,
  historyLog,
  type OrbHead,
  orbHead,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { inBatches } from "../entry/index/index.ts";
import { notFound } from "../kernel/errors.ts";
import { indexBytes, ReadBudget } from "../store/budget.ts";
import { nextPlace } from "../store/numbered-log.ts";
import { scanPages } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Place } from "../store/types.ts";

import { readOrbAndLoss } from "./change.ts";
import { type RevisionItem, type RevisionView, revisionItem, revisionView } from "./view.ts";

export async function getOrb(
  deps: Deps,
  actor: Actor,
  input: { orb: string; published?: boolean | undefined },
): Promise<{ orb: ExistingOrb; newest: number; loss: StreamLoss | undefined }> {
  requireOperator(actor, "orbs.read", input.orb);
  const { head, loss } = await readOrbAndLoss(deps, input.orb);
  if (input.published !== true) return { orb: head, newest: head.revision, loss };
  if (head.publishedRevision === null)
    throw notFound("published revision", "No revision of this orb is published.");
  const live = await findRevision(deps, input.orb, head, head.publishedRevision);
  if (!exists(live)) throw notFound("published revision");
  return { orb: live, newest: head.revision, loss };
}

export interface ListOrbs {
  limit: number;
  after?: number | undefined;
  descending?: boolean | undefined;
  status?: Status | undefined;
  count?: boolean | undefined;
}

export interface OrbPage {
  orbs: ExistingOrb[];
  /** Value of `after` for the next page; null after the last page. */
  next: number | null;
  total: number | undefined;
}

interface OrbPosition {
  orb: string;
  seq: number;
}

/**
 * Lists applications in the order of their creation. A page may be short or empty, because each request may read only
 * a limited number of records.
 * @throws AppError invalid `too_broad` if a count by status needs too many reads
 */
export async function listOrbs(deps: Deps, actor: Actor, input: ListOrbs): Promise<OrbPage> {
  requireOperator(actor, "orbs.list");
  const orbs: ExistingOrb[] = [];
  let end: number | null = null;
  const budget = new ReadBudget();
  const early = async () => ({ orbs, next: end, total: await totalOf(deps, budget, input) });
  for await (const places of pagesOf(deps, input)) {
    for await (const { wanted, result } of headsOf(deps, budget, places)) {
      for (const place of wanted) {
        const message = result.get(subjects.orbHistory(place.orb));
        const head = message === undefined ? null : headOf(message);
        if (exists(head) && (input.status === undefined || head.status === input.status)) {
          if (orbs.length === input.limit) return early();
          orbs.push(head);
        }
        end = place.seq;
      }
      if (budget.over) return early();
    }
  }
  return { orbs, next: null, total: await totalOf(deps, budget, input) };
}

/** Reads the newest revisions of applications. Reads a few at a time, because definitions may be large. */
function headsOf(deps: Deps, budget: ReadBudget, places: readonly OrbPosition[]) {
  const store = budget.charging(deps.store);
  return inBatches(budget, places, (some, maxBytes) =>
    store.getMany(
      streams.platform,
      some.map(({ orb }) => subjects.orbHistory(orb)),
      { maxBytes },
    ),
  );
}

/** Advice in the error message when a count needs too many reads. */
const NO_COUNT = "Leave out the count or the status.";

async function totalOf(deps: Deps, budget: ReadBudget, input: ListOrbs): Promise<number | undefined> {
  if (input.count !== true) return undefined;
  if (input.status === undefined) {
    const page = await deps.store.scan(streams.platform, subjects.allOrbPlaces, {
      fromSeq: 1,
      limit: 1,
      maxBytes: indexBytes(1),
    });
    return page.messages.length + page.pending;
  }
  let total = 0;
  for await (const places of pagesOf(deps, { limit: 200 })) {
    for await (const { result } of headsOf(deps, budget, places)) {
      budget.require(NO_COUNT);
      for (const message of result.values()) {
        const head = headOf(message);
        if (exists(head) && head.status === input.status) total++;
      }
    }
  }
  return total;
}

/** Yields the applications of a page, and one more, which shows whether there is a next page. */
async function* pagesOf(deps: Deps, input: ListOrbs): AsyncGenerator<OrbPosition[]> {
  const limit = input.limit + 1;
  if (input.descending !== true) {
    const maxBytes = indexBytes(limit);
    const read = (fromSeq: number) =>
      deps.store.scan(streams.platform, subjects.allOrbPlaces, { fromSeq, limit, maxBytes });
    for await (const messages of scanPages(read, { fromSeq: (input.after ?? 0) + 1 }))
      yield messages.filter(({ size }) => size > 0).map(positionOf);
    return;
  }
  // To list the newest applications first, read the stream backwards in growing ranges, because most messages in this
  // stream are of other kinds.
  const newest = await deps.store.get(streams.platform, subjects.allOrbPlaces);
  let last = Math.min(newest?.seq ?? 0, (input.after ?? Number.POSITIVE_INFINITY) - 1);
  for (let width = WINDOW; last > 0; width *= 4) {
    const first = Math.max(1, last - width + 1);
    const places = (await placesBetween(deps, first, last)).reverse();
    for (let start = 0; start < places.length; start += limit) yield places.slice(start, start + limit);
    last = first - 1;
  }
}

/** Size of the first range to read, in sequence numbers. Each further range is larger. */
const WINDOW = 256;

async function placesBetween(deps: Deps, first: number, last: number): Promise<OrbPosition[]> {
  const places: OrbPosition[] = [];
  for (let fromSeq = first; ; ) {
    const limit = Math.min(1_000, last - fromSeq + 1);
    const page = await deps.store.scan(streams.platform, subjects.allOrbPlaces, {
      fromSeq,
      limit,
      maxBytes: indexBytes(limit),
    });
    for (const message of page.messages) {
      if (message.seq <= last && message.data.length > 0) places.push(positionOf(message));
    }
    const end = page.messages.at(-1);
    if (end === undefined || page.pending === 0 || end.seq >= last) return places;
    fromSeq = end.seq + 1;
  }
}

function positionOf(message: { subject: string; seq: number }): OrbPosition {
  return { orb: message.subject.split(".").at(-1) ?? "", seq: message.seq };
}

/** Returns the newest revision of an application, even if the application is deleted. */
async function historyHead(deps: Deps, actor: Actor, orb: string): Promise<OrbHead> {
  requireOperator(actor, "orbs.read", orb);
  const head = isOrbId(orb) ? await orbHead(deps, orb) : null;
  if (head === null) throw notFound("orb");
  return head;
}

export interface ListOrbRevisions {
  orb: string;
  limit: number;
  descending: boolean;
  /** Last revision of the previous page. */
  after?: Place | undefined;
}

/** Lists the revisions of an application. A page may be short if the definitions are large. */
export async function listOrbRevisions(
  deps: Deps,
  actor: Actor,
  { orb, limit, descending, after }: ListOrbRevisions,
): Promise<{ items: RevisionItem[]; next: Place | null; total: number }> {
  const head = await historyHead(deps, actor, orb);
  const log = historyLog(deps, orb, head, revisionItem);
  const page = descending ? await log.descending(limit, after) : await log.ascending(limit, after);
  return { items: page.items.map(({ value }) => value), next: nextPlace(page), total: head.revision };
}

export async function getOrbRevision(
  deps: Deps,
  actor: Actor,
  input: { orb: string; revision: number; against?: number | undefined },
): Promise<RevisionView> {
  const head = await historyHead(deps, actor, input.orb);
  const [record, other] = await Promise.all([
    findRevision(deps, input.orb, head, input.revision),
    input.against === undefined ? undefined : findRevision(deps, input.orb, head, input.against),
  ]);
  if (record === null || other === null) throw notFound("revision");
  if (other === undefined) return revisionView(record);
  return { ...revisionView(record), ...changeLog(other.document, record.document), against: other.revision };
}
