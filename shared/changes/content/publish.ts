/** Publishes a change set: all of its entries at one sequence number, or nothing and the reasons. */
import { type Actor, actorId, tokenIdOf } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { isOwn, type Principal, principalIn, requireMay, requireOperator } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import {
  type AdmittedChange,
  Planning,
  type PlanningOptions,
  type Together,
} from "../../entry/batch/index.ts";
import { inBatches } from "../../entry/index/index.ts";
import {
  type EntrySnapshot,
  type EntryWrite,
  effective,
  namedEntry,
  type OrbContext,
  type StoredEntry,
  schemaOf,
} from "../../entry/model/index.ts";
import {
  admitChange,
  CONTENDED_ATTEMPTS,
  commitTogether,
  newestIn,
  type Plan,
  renewDefinition,
  retryOnConflict,
  type WriteRetry,
} from "../../entry/write/index.ts";
import { AppError, revisionMismatch } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { counted } from "../../quotas/write.ts";
import { ReadBudget } from "../../store/budget.ts";
import { isUnsure } from "../../store/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, LARGE_BATCH_LIMIT } from "../../store/types.ts";
import { afterReaders } from "../../store/whole.ts";
import { contextIn, prepareRelease, type Release } from "../definition/index.ts";
import {
  type ChangeSet,
  findSet,
  hashMismatch,
  nextSet,
  nothingToPublish,
  type ReadSet,
  requirePublishable,
  requireReadable,
  requireSet,
  requireSome,
  type SetContent,
  setMessage,
  takenBackBy,
} from "../record/index.ts";
import { Attempts, entriesIn, entryIn, type PublishedEntry, Reasons } from "./attempts.ts";
import {
  addressOfItem,
  type Before,
  type Content,
  contentMessage,
  finished,
  type Item,
  isTooLargeHere,
  MOST_BYTES,
  type ReadContent,
  readContent,
  summaryOf,
  withRoom,
} from "./content.ts";
import { ACTS, isReached, movedOn, publicationOf } from "./publication.ts";
import { inEffect } from "./revert.ts";
import { type Version, versionIn } from "./version.ts";

export interface PublishInput {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  /** After a conflict, reads the definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
  /** Id of the change set. */
  set: string;
  /** Number of the newest revision of the set that the caller knows. */
  ifMatch?: number | undefined;
  /** Hash of the content that the caller has seen. By default, the content as it is now. */
  hash?: string | undefined;
}

export interface Published {
  set: ChangeSet;
  content: SetContent;
  entries: PublishedEntry[];
}

/** Attempts after which the publication of a definition blocks other writes. */
const PATIENT_ATTEMPTS = 3;
/** Milliseconds after which a publication that meets conflicts gives up. */
const PUBLISH_MS = 30_000;
/** Milliseconds to wait before each look whether a publication was stored whose acknowledgement was lost. */
const LOOKS_MS = [0, 100, 300, 600, 1_000, 2_000];
/** Bytes of the pending versions and of the stored revisions that a publication reads. */
const READ_BYTES = 4 * MOST_BYTES;

/** A version of the set, and where it belongs. */
interface Placed extends Together {
  version: Version;
}

/** Reads all versions of a set, in order of their ids, and so in the order in which new entries were proposed. */
export async function readVersions(
  deps: Deps,
  context: OrbContext,
  set: string,
  items: readonly Item[],
  budget = new ReadBudget(READ_BYTES),
): Promise<Version[]> {
  const store = budget.charging(deps.store);
  const wanted = items.map((item) => subjects.changeVersion(set, addressOfItem(context.orb, item)));
  const versions: Version[] = [];
  const read = (some: readonly string[], maxBytes: number) =>
    store.getMany(streams.orb(context.orb), some, { maxBytes });
  for await (const { result } of inBatches(budget, wanted, read)) {
    for (const message of result.values()) {
      const version = versionIn(context.compiled, message);
      if (version !== null) versions.push(version);
    }
  }
  return versions.sort((a, b) => (a.address.id < b.address.id ? -1 : 1));
}

/** Throws 403 unless a caller may publish, archive or delete each entry as a set does. */
export async function requireEach(
  deps: Deps,
  context: OrbContext,
  caller: Principal,
  { id }: ChangeSet,
): Promise<void> {
  const { items, definition } = (await readContent(deps, context.orb, id)).content;
  if (definition !== undefined) requireOperator(caller.actor, "orbs.write", context.orb);
  const within = definition === undefined ? context : await contextIn(deps, context, id);
  for (const { address, act, head } of await readVersions(deps, within, id, items)) {
    const schema = schemaOf(within.compiled, address) ?? schemaOf(context.compiled, address);
    if (schema === undefined) throw schemaGone(address.schema);
    const own = isOwn(caller.actor, head.createdBy);
    for (const operation of ACTS[act]) requireMay(caller, operation, { access: schema.access, own });
  }
}

/** Decides the publication of all entries of a set. */
class SetPlanning extends Planning<Placed> {
  readonly #set: ChangeSet;
  /** The live revision of each entry before the publication. */
  readonly before = new Map<string, Before | null>();

  constructor(
    deps: Deps,
    caller: Principal,
    context: OrbContext,
    placed: readonly Placed[],
    options: PlanningOptions & { set: ChangeSet },
  ) {
    super(deps, caller, context, placed, options);
    this.#set = options.set;
  }

  protected admit(one: Placed, entry: StoredEntry | null): AdmittedChange | undefined {
    const { version } = one;
    const { actor } = this.caller;
    const named = namedEntry(this.context.compiled, entry);
    const head = named === null || named.head.status === "DELETED" ? null : named.head;
    const change = publicationOf(this.within(one), actor, this.#set, version);
    if (head === null) {
      if (version.act === "delete") return undefined;
      if (version.base !== null) throw movedOn([""]);
      const { createdBy } = version.head;
      const { access } = one.schema;
      for (const act of ACTS[version.act])
        requireMay(this.caller, act, { access, own: isOwn(actor, createdBy) });
      this.before.set(one.id, null);
      const found = {
        address: version.address,
        head: standIn(version, named?.head, this.context),
        seq: entry?.seq ?? 0,
      };
      return { change, admitted: { caller: this.caller, context: this.context, found } };
    }
    if (version.base === null) throw movedOn([""]);
    const admitted = admitChange(one.deps, actor, this.context, entry, change);
    const now = effective(head, this.deps.clock.now());
    if (version.edited !== true && isReached(version.act, now)) return undefined;
    this.before.set(one.id, beforeOf(now, entry?.seq ?? 0));
    return { change, admitted };
  }

  protected planNew(): Promise<Plan> {
    throw new AppError("internal", "internal_error", "A change set has no entries of this kind.");
  }

  protected showExpected({ schema, id, version }: Placed, entry: StoredEntry | null): void {
    if (!this.before.has(id)) return;
    this.overlay.show(schema, version.head, entry?.seq ?? 0);
  }
}

/** Returns a revision that stands for an entry which does not exist yet, or was deleted. */
function standIn(
  { head }: Version,
  deleted: EntrySnapshot | undefined,
  { revision }: OrbContext,
): EntrySnapshot {
  return {
    ...head,
    revision: deleted?.revision ?? 0,
    status: "SAVED",
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    values: {},
    claims: [],
    liveClaims: null,
    defRevision: revision,
  };
}

function beforeOf(
  { status, revision, publishedRevision, publishedSeq }: EntrySnapshot,
  seq: number,
): Before | null {
  if (status === "DELETED") return null;
  if (publishedRevision === null || publishedSeq === null) return { status, revision, seq };
  return { status, revision: publishedRevision, seq: publishedSeq };
}

/** @param after the definition as it will be, if the set publishes one */
function placedIn(
  attempts: Attempts,
  { compiled }: OrbContext,
  versions: readonly Version[],
  after = compiled,
): Placed[] {
  return versions.map((version, index) => {
    const { address } = version;
    const schema = schemaOf(compiled, address);
    // Only a deletion may concern a schema that the definition of the set removes.
    const isGone = version.act !== "delete" && schemaOf(after, address) === undefined;
    if (schema === undefined || isGone) throw schemaGone(address.schema);
    const act = version.act === "delete" || version.act === "archive" ? "delete" : "update";
    return { index, act, schema, id: address.id, version, deps: attempts.depsOf(address.id) };
  });
}

/**
 * Throws 409 if a purge has erased pending versions, because then the set is not what its reviewers have seen.
 * @throws Conflict if another request has taken an entry out of the set since its list was read
 */
async function requireAll(
  deps: Deps,
  { orb, compiled }: OrbContext,
  set: string,
  { content: { items }, seq }: ReadContent,
  versions: readonly Version[],
): Promise<void> {
  const found = new Set(versions.map(({ address }) => address.id));
  const erased = items.filter(({ id }) => !found.has(id));
  if (erased.length === 0) return;
  if ((await readContent(deps, orb, set)).seq !== seq) throw new Conflict();
  const paths = erased.map((item) => {
    const schema = schemaOf(compiled, addressOfItem(orb, item));
    return `/${schema?.module ?? item.type}/${schema?.id ?? item.schema}/${item.id}`;
  });
  throw movedOn(paths);
}

function schemaGone(schema: string): AppError {
  return new AppError(
    "conflict",
    "schema_gone",
    `The orb's definition no longer has the schema ${schema}, of which the change set contains entries. Take them out of the set.`,
  );
}

function nullIfUnsure(error: unknown): null {
  if (isUnsure(error)) return null;
  throw error;
}

/** Publishes a set. @throws AppError the reasons why it cannot be published; then nothing was written */
export async function publishSet(deps: Deps, actor: Actor, input: PublishInput): Promise<Published> {
  const { orbId, set } = input;
  const first = await input.orb;
  const known = await readContent(deps, orbId, set);
  const until = deps.clock.now() + PUBLISH_MS;
  const attempts = new Attempts(deps);
  const run = async (attempt: number): Promise<Published> => {
    await afterReaders(deps, streams.orb(orbId));
    const [context, record, content] = await Promise.all([
      attempt === 0 ? first : renewDefinition(deps, input),
      requireSet(deps, orbId, set),
      attempt === 0 ? known : readContent(deps, orbId, set),
    ]);
    const summary = await summaryOf(context, content.content);
    if (attempts.isRepeated(record.set, actor, input.hash)) {
      requireSome(principalIn(actor, orbId, context.compiled), context.compiled, "changes.publish");
      return { set: record.set, content: summary, entries: entriesIn(context, content.content) };
    }
    if (input.ifMatch !== undefined && input.ifMatch !== record.set.revision)
      throw revisionMismatch(record.set.revision);
    if (input.hash !== undefined && input.hash !== summary.hash) throw hashMismatch(summary.hash);
    return publishOnce(deps, actor, context, { record, content, summary, attempts }, attempt);
  };
  /**
   * Returns the result if the broker has stored the publication, although its acknowledgement was lost. It may take a
   * while to store a large one.
   */
  const findSent = async () => {
    if (attempts.sent === undefined) return null;
    for (const ms of attempts.isUnsure ? LOOKS_MS : [0]) {
      if (ms > 0) await pause(ms);
      // The connection may have been lost.
      const now = await requireSet(deps, orbId, set).catch(nullIfUnsure);
      if (now !== null && attempts.isRepeated(now.set, actor, undefined)) return run(1);
    }
    return null;
  };
  const options: WriteRetry = { attempts: CONTENDED_ATTEMPTS, until, replayed: ["unavailable", "timeout"] };
  const work = () => retryOnConflict(deps, orbId, run, findSent, options);
  const { items } = known.content;
  const published = await withRoom(items, () =>
    counted(deps, actor, orbId, () => charged(attempts, work), Math.max(1, items.length)),
  );
  const detail = `published ${published.content.hash}`;
  await audit(deps, { realm: orbId, action: "change", actor, target: set, detail });
  return published;
}

/** Gives back what guesses of values cost once the outcome of all attempts is known. */
async function charged<T>(attempts: Attempts, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    attempts.release();
    return result;
  } catch (error) {
    attempts.release(error);
    throw error;
  }
}

interface Attempt {
  record: ReadSet;
  content: ReadContent;
  summary: SetContent;
  attempts: Attempts;
}

async function publishOnce(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { record, content, summary, attempts }: Attempt,
  attempt: number,
): Promise<Published> {
  const { orb, compiled } = context;
  const { set } = record;
  const caller = principalIn(actor, orb, compiled);
  requireReadable(caller, compiled, set);
  requireSome(caller, compiled, "changes.publish");
  requirePublishable(compiled, set, summary);
  if (isTooLargeHere(deps, content.content)) throw tooLargeHere();
  const { items, definition: item } = content.content;
  if (items.length === 0 && item === undefined) throw nothingToPublish();
  const found = { set: set.id, attempt, attempts: attempts.definition };
  const release =
    item === undefined ? undefined : await prepareRelease(deps, actor, context, { ...found, item });
  const target = release?.context ?? context;
  const versions = await readVersions(deps, target, set.id, items);
  await requireAll(deps, target, set.id, content, versions);
  const placed = placedIn(attempts, target, versions, release?.compiled);
  const refusals = new Reasons(placed);
  const budget = new ReadBudget(READ_BYTES);
  const options = { refusals, attempt, budget, set, reserves: release !== undefined };
  const publisher = release === undefined ? caller : principalIn(actor, orb, target.compiled);
  const planning = new SetPlanning(deps, publisher, target, placed, options);
  try {
    // Writers that keep changing the entries wait, so that the publication comes to an end.
    if (attempt >= PATIENT_ATTEMPTS) await release?.block();
    const planned = await planning.run();
    const { before } = planning;
    const own = { record, content, summary, attempts };
    const next = await committed(deps, actor, target, own, { planned, before, release });
    for (const { plan } of planned) await plan.committed?.(deps);
    return {
      set: next,
      content: summary,
      entries: planned.map(({ plan, write }) => entryIn(plan, newestIn(write))),
    };
  } catch (error) {
    await release?.giveUp();
    throw error;
  } finally {
    attempts.refuse(new Map([...refusals.all].map(([index, error]) => [placed[index]?.id ?? "", error])));
  }
}

/** What the entries of a set become. */
interface Decided {
  planned: readonly { plan: Plan; write: EntryWrite }[];
  before: ReadonlyMap<string, Before | null>;
  release: Release | undefined;
}

/** Commits the publication of a set in one batch. Returns the published set. */
async function committed(
  deps: Deps,
  actor: Actor,
  target: OrbContext,
  { record: { set, seq }, content: { content, seq: contentSeq }, summary: { hash }, attempts }: Attempt,
  { planned, before, release }: Decided,
): Promise<ChangeSet> {
  const { orb } = target;
  const token = tokenIdOf(actor);
  const by = { by: actorId(actor), ...(token === undefined ? {} : { token }) };
  const published = { ...by, at: new Date(deps.clock.now()).toISOString(), hash };
  const next = nextSet(deps, actor, set, "publish", { published, plan: undefined, refused: undefined });
  const writes = planned.map(({ write }) => write);
  const revisions = new Map(writes.map((write) => [write.address.id, madeIn(newestIn(write))]));
  const { definition } = content;
  const done = {
    ...finished(content, revisions, before),
    ...(definition === undefined || release === undefined ? {} : { definition: release.done(definition) }),
  };
  const more: Append[] = [
    setMessage(orb, next, seq),
    contentMessage(orb, set.id, done, contentSeq),
    ...(await takenBack(deps, actor, orb, set, content)),
  ];
  const commit = async (last?: readonly Append[]) => {
    attempts.sent = published;
    attempts.isUnsure = false;
    const together = { messages: LARGE_BATCH_LIMIT, tooMany, isWhole: true, last };
    await commitTogether(deps, target, writes, more, together).catch((error: unknown) => {
      attempts.isUnsure = isUnsure(error);
      throw error;
    });
  };
  if (release === undefined) {
    await commit();
    return next;
  }
  await commit(await release.begin(writes.map(({ address }) => address)));
  await release.finish();
  return next;
}

/** Returns the number of the revision that a publication makes. A draft may follow it. */
const madeIn = ({ revision, publishedRevision }: EntrySnapshot) => publishedRevision ?? revision;

/**
 * Returns the messages that mark the sets which this one takes back. Sets of which it leaves entries, because these were
 * taken out of it or had no room in it, stay published, so that the rest can be taken back later.
 */
async function takenBack(
  deps: Deps,
  actor: Actor,
  orb: string,
  set: ChangeSet,
  { items, takes = [] }: Content,
): Promise<Append[]> {
  const taken = new Set(items.map(({ id }) => id));
  const left = new Set(takes.filter((id) => !taken.has(id)));
  const all = await Promise.all(takenBackBy(set).map((id) => findSet(deps, orb, id)));
  const messages: Append[] = [];
  for (const found of all) {
    if (found === null || found.set.state !== "PUBLISHED") continue;
    const rest = left.size === 0 ? [] : await inEffect(deps, orb, found.set);
    const isWhole = !rest.some(({ id }) => left.has(id));
    const { revertedInPart = [] } = found.set;
    const next = isWhole
      ? nextSet(deps, actor, found.set, "revert", { revertedBy: set.id })
      : nextSet(deps, actor, found.set, "revertPart", { revertedInPart: [...revertedInPart, set.id] });
    messages.push(setMessage(orb, next, found.seq));
  }
  return messages;
}

function tooLargeHere(): AppError {
  const detail =
    "The change set is too large for the memory of this host. Plan its publication with publishAt, so that the hooks process publishes it.";
  return new AppError("too_large", "change_too_large", detail);
}

function tooMany(messages: number): AppError {
  const detail = `The publication needs ${messages} messages, and one atomic write holds ${LARGE_BATCH_LIMIT}. Divide the change set into smaller ones.`;
  return new AppError("too_large", "change_too_large", detail);
}
