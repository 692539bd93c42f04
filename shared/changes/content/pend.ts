/** Writes pending versions: the result of a verb goes into a change set instead of the entry. */
import { type Actor, actorId } from "../../access/actor.ts";
import type { EntryOperation } from "../../access/credentials/index.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import {
  claimMessage,
  type EntrySnapshot,
  type EntryWrite,
  effective,
  GONE_SECONDS,
  guard,
  namedEntry,
  type OrbContext,
  parseEntry,
  withStoredNames,
} from "../../entry/model/index.ts";
import { type Destination, inTurn, newestIn } from "../../entry/write/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { encodeText, sha256 } from "../../kernel/ids.ts";
import { equal } from "../../kernel/json.ts";
import { retry } from "../../kernel/retry.ts";
import { isConflict } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { editing } from "../record/index.ts";
import {
  type Content,
  contentMessage,
  type Item,
  MOST_BYTES,
  MOST_ENTRIES,
  type ReadContent,
  type VersionAct,
} from "./content.ts";
import { releaseNew } from "./release.ts";
import type { Base, Pending, StoredVersion, Version } from "./version.ts";
import type { SetView } from "./view.ts";

/** Other entries of the set may be written at the same time, and each write replaces the list of entries. */
const ATTEMPTS = 30;
const PAUSE_MS = 40;

/**
 * Returns where verbs store their writes so that they become pending versions in a set. The verbs must use the store of
 * the view. Publishing and unpublishing need no right to publish, because nothing becomes live before the set does.
 * @param deps the dependencies with the plain store
 * @param options.force whether a deletion is to succeed even if other entries refer to the entry
 * @param options.base returns the revision from which the version is made, if it is another one than before
 * @param options.admits throws an error that is no conflict if a new entry must not be stored beside this content of the
 * set; called again after each conflict
 */
export function intoSet(
  deps: Deps,
  actor: Actor,
  view: SetView,
  {
    force = false,
    base,
    admits,
  }: { force?: boolean; base?: () => Base | undefined; admits?: Admits | undefined } = {},
): Destination {
  const acts = (given: readonly EntryOperation[]) => [
    ...new Set(given.map((act) => (act === "publish" || act === "unpublish" ? "update" : act))),
  ];
  return {
    acts,
    async newest({ orb, compiled }, address) {
      const message = await deps.store.get(streams.orb(orb), subjects.entryLog(address));
      return namedEntry(compiled, parseEntry(message))?.head ?? null;
    },
    async store(_, by, write) {
      const newest = newestIn(write);
      const options = { force, base: base?.(), now: deps.clock.now() };
      const { from, pending } = pendedBy(view, write, options);
      const { orb } = by;
      const stored = await inTurn([turnOf(orb, view.id)], () =>
        storeVersion(deps, actor, by, view, { write, snapshot: newest, pending }, admits),
      );
      if (from === null && pending.act === "delete") await releaseNew(deps, by, [write.address]);
      return stored;
    },
  };
}

/** Throws if a new entry must not be stored beside this content of a set. */
export type Admits = (content: ReadContent) => void;

/** Returns the name of the turn in which writes into a set follow each other on this host. */
export const turnOf = (orb: string, set: string) => `${orb}/_change/${set}`;

/** Returns the version of an entry on which a write is based, if it is one of the set. */
export function versionBefore(view: SetView, write: EntryWrite): Version | undefined {
  const known = view.shown(write.address.id);
  return known?.seq === write.headSeq ? known : undefined;
}

/**
 * Returns what the publication of the set does with an entry after a write.
 * @param options.base the revision from which the version is made, if it is another one than before
 */
export function pendedBy(
  view: SetView,
  write: EntryWrite,
  { force, base, now }: { force: boolean; base?: Base | undefined; now: number },
): { from: Base | null; pending: Pending } {
  const newest = newestIn(write);
  const mine = versionBefore(view, write);
  const from = base ?? (mine === undefined ? baseOf(write, now) : mine.base);
  const made = [...(write.made ?? []), ...(mine?.made ?? [])].filter((key) => newest.claims.includes(key));
  const pending = pendingOf(newest, mine, from, force);
  return { from, pending: made.length === 0 ? pending : { ...pending, made: [...new Set(made)] } };
}

/** What to store for an entry of a set. */
export interface NewVersion {
  write: Pick<EntryWrite, "address" | "schema" | "headSeq" | "guards" | "idempotency">;
  snapshot: EntrySnapshot;
  pending: Pending;
}

/**
 * Returns what the publication of the set does with an entry after a write.
 * @param known the version before, if there is one
 */
function actIn(
  { status, operation }: EntrySnapshot,
  known: Version | undefined,
  base: Base | null,
): VersionAct {
  if (status === "DELETED") return "delete";
  if (status === "ARCHIVED") return "archive";
  if (operation === "unpublish") return "unpublish";
  // The entry itself is not archived if the set archived it. As in the orb, it is not live after the restoration.
  if (operation === "restore")
    return known?.act === "archive" && base?.live === true ? "unpublish" : "restore";
  const isHidden = known?.act === "unpublish" || known?.act === "restore";
  return isHidden && operation !== "publish" ? known.act : "publish";
}

function pendingOf(
  newest: EntrySnapshot,
  known: Version | undefined,
  base: Base | null,
  force: boolean,
): Pending {
  const act = actIn(newest, known, base);
  const isEdit = newest.operation === "update" || newest.operation === "revert";
  const edited = act !== "publish" && (isEdit || known?.act === "publish" || known?.edited === true);
  if (base !== null || act === "publish" || act === "delete")
    return {
      act,
      base,
      ...(force ? { force: true } : {}),
      ...(edited && act !== "delete" ? { edited: true } : {}),
    };
  throw new AppError(
    "conflict",
    "wrong_state",
    `The operation ${act} is not possible, because the change set creates the entry. Delete it in the change set instead.`,
    { data: { state: "SAVED", operation: act } },
  );
}

function baseOf({ before, headSeq }: EntryWrite, now: number): Base | null {
  if (before === undefined || headSeq === 0) return null;
  const live = effective(before, now).publishedRevision !== null;
  return { revision: before.revision, seq: headSeq, live };
}

/** Returns a revision as readers see it once the set is published. */
export function shownAs(newest: EntrySnapshot, act: VersionAct): EntrySnapshot {
  const { validFrom, validTo, revision } = newest;
  const hidden = {
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    liveClaims: null,
  };
  if (act !== "publish") return { ...newest, ...hidden };
  const live = { publishedRevision: revision, liveFrom: validFrom, liveTo: validTo };
  return { ...newest, ...hidden, status: "PUBLISHED", ...live };
}

/** Returns the entries of a set after a write. @param item undefined if the entry leaves the set */
export function withItem(content: Content, id: string, item: Item | undefined, author: string): Content {
  const items = content.items.filter((one) => one.id !== id);
  if (item !== undefined) items.push(item);
  const left = item === undefined ? content.items.find((one) => one.id === id) : undefined;
  const last = Math.max(content.last ?? 0, left?.revision ?? 0);
  const bytes = items.reduce((sum, one) => sum + one.bytes, 0);
  if (items.length > MOST_ENTRIES || bytes > MOST_BYTES) throw tooLarge();
  const authors = [...new Set([...content.authors, author])];
  return { ...content, items, authors, ...(last === 0 ? {} : { last }) };
}

function tooLarge(): AppError {
  const detail = `A change set holds at most ${MOST_ENTRIES} entries and ${MOST_BYTES / 1024 ** 2} MiB. Publish this one first, or open another one.`;
  return new AppError("too_large", "change_too_large", detail);
}

/** Returns the messages that put a version into a set, except for the list of entries. */
export async function versionMessages(
  set: string,
  { write, snapshot, pending }: NewVersion,
  seq: number,
): Promise<{ item: Item | undefined; messages: Append[] }> {
  const { address, schema } = write;
  const subject = subjects.changeVersion(set, address);
  if (pending.act === "delete" && pending.base === null)
    return {
      item: undefined,
      messages: [{ subject, data: "", rollup: true, ttl: GONE_SECONDS, expect: { seq } }],
    };
  const body: StoredVersion = { ...withStoredNames(schema, snapshot), pending };
  const data = JSON.stringify(body);
  const { values, validFrom, validTo } = body;
  const { act, base, force = false } = pending;
  const hash = await sha256(JSON.stringify([act, base, force, values, validFrom, validTo]));
  const { type, schema: token, id } = address;
  const creates = pending.base === null ? { creates: true as const } : {};
  const bytes = encodeText(data).length;
  const { revision } = snapshot;
  const item: Item = { type, schema: token, id, act: pending.act, ...creates, revision, hash, bytes };
  return { item, messages: [{ subject, data, rollup: true, expect: { seq } }] };
}

async function storeVersion(
  deps: Deps,
  actor: Actor,
  { orb, fence }: OrbContext,
  view: SetView,
  { write, snapshot: newest, pending }: NewVersion,
  admits: Admits = () => undefined,
): Promise<{ snapshot: EntrySnapshot; seq: number }> {
  const { address, idempotency } = write;
  const stream = streams.orb(orb);
  const known = view.shown(address.id);
  const expected = known?.seq === write.headSeq ? known.seq : undefined;
  // The files of a version are kept with it. Other conditions are checked when the set is published.
  const files = (write.guards ?? []).filter(({ carriers = [] }) => carriers.length > 0);
  let seq = expected ?? 0;
  /** Throws if the conflict was about something else than the list of entries, which other writes replace. */
  const renewed = async (error: unknown) => {
    if (!isConflict(error)) return false;
    const before = [view.record.seq, view.content.seq, seq];
    const [now, claimed] = await Promise.all([
      deps.store.get(stream, subjects.changeVersion(view.id, address)),
      idempotency === undefined ? null : deps.store.get(stream, idempotency.subject),
      view.renew(),
    ]);
    // An earlier request with the same Idempotency-Key has written. Its response is the one of this request.
    if (claimed !== null && claimed.size > 0) return false;
    const isGone = now === null || now.size === 0;
    seq = now?.seq ?? 0;
    // A version that has left the set leaves a message for a moment, which a new version replaces.
    const isSame = equal(before, [view.record.seq, view.content.seq, seq]);
    return (isGone ? expected === undefined : seq === expected) && !isSame;
  };
  const policy = { attempts: ATTEMPTS, after: renewed, pauseMs: () => Math.random() * PAUSE_MS };
  return retry(policy, async () => {
    const { record, content } = view;
    if (expected === undefined && pending.base === null) admits(content);
    const { revision } = newest;
    const own = expected === undefined ? Math.max(revision, (content.content.last ?? 0) + 1) : revision;
    const snapshot = shownAs({ ...newest, revision: own }, pending.act);
    const { item, messages } = await versionMessages(view.id, { write, snapshot, pending }, seq);
    const next = withItem(content.content, address.id, item, actorId(actor));
    const place = subjects.changeVersion(view.id, address);
    const claim = idempotency === undefined ? [] : [claimMessage(idempotency, 1, place)];
    const all = [contentMessage(orb, view.id, next, content.seq), ...claim, ...messages];
    const edit = editing(deps, actor, orb, record);
    const guards = [...files, ...edit.guards, fenceGuard(orb, fence)];
    const stored = guard(address, [...edit.messages, ...all], guards);
    return { snapshot, seq: await deps.store.batch(stream, stored) };
  });
}
