/**
 * Erases what an interrupted publication has made: entries of a schema that was never published, with copies of objects.
 * Before a publication makes the first one, it writes a mark, and renews it while it works. When the mark is old, the next
 * look erases the entries. A publication that was only slow then begins again.
 */
import { compileOrb } from "../../definition/compile.ts";
import { homeKey, homeOf, type OrbDocument } from "../../definition/document/index.ts";
import { NameTable, type StoredNames, storedHome } from "../../definition/names/index.ts";
import type { Retired } from "../../definition/retired.ts";
import {
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  liveRecord,
  orbHead,
  settleAwaited,
  stopPublications,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { eraseMade } from "../../entry/migrate/index.ts";
import { GONE_SECONDS, type OrbContext } from "../../entry/model/index.ts";
import { indexBytes } from "../../store/budget.ts";
import { nullIfMissing, scanPages } from "../../store/pages.ts";
import { type Home, parsedHome, streams, subjects } from "../../store/subjects.ts";
import { Conflict, type StoredMessage } from "../../store/types.ts";

/** Milliseconds after which a publication renews its mark. */
const RENEW_MS = 10_000;
/**
 * Age of a mark in milliseconds after which its publication is taken for interrupted. While it builds indexes for all
 * entries of a schema, it does not renew the mark: a million entries take a minute.
 */
const ABANDONED_MS = 300_000;
const PAGE = 100;

export interface Definition {
  document: OrbDocument;
  names: StoredNames | undefined;
  /** Missing if the definition is not published yet. */
  revision?: number;
}

/** Body of a mark. */
interface StoredMark extends Omit<Definition, "names"> {
  v: 1;
  at: string;
  names?: StoredNames | undefined;
  /** Sequence number of the stream before the first entry was made. Entries from before are none of the publication's. */
  since?: number | undefined;
  /** Whether the entries are being erased. */
  ends?: true;
}

/**
 * Revision of a definition that is not published yet, and that another document may get. So the index keys of the new
 * entries count as those of an earlier definition.
 */
const UNNUMBERED = 0;

/** Returns a definition for writes that call no hooks. */
export function contextOf(orb: string, { document, names, revision }: Definition): OrbContext {
  const { hooks: _, ...quiet } = document;
  return { orb, revision: revision ?? UNNUMBERED, compiled: compileOrb(quiet, names) };
}

/** The mark of a publication that makes entries of a new schema. */
export class SplitMark {
  readonly #deps: Deps;
  readonly #orb: string;
  readonly #home: Home;
  readonly #definition: Definition;
  #seq = 0;
  #at = 0;
  #since = 0;

  constructor(deps: Deps, orb: string, home: Home, definition: Definition) {
    this.#deps = deps;
    this.#orb = orb;
    this.#home = home;
    this.#definition = definition;
  }

  get #subject(): string {
    return subjects.splitMark({ orb: this.#orb, ...this.#home });
  }

  async #write(expect: number): Promise<void> {
    const { document, names } = this.#definition;
    const now = this.#deps.clock.now();
    const mark: StoredMark = { v: 1, at: new Date(now).toISOString(), document, names, since: this.#since };
    this.#seq = await this.#deps.store.append(streams.orb(this.#orb), {
      ...{ subject: this.#subject, data: JSON.stringify(mark), rollup: true, expect: { seq: expect } },
    });
    this.#at = now;
  }

  /**
   * Writes the mark. Takes that of an earlier publication over.
   * @throws Conflict if another process is erasing the entries, or writes the mark too
   */
  async begin(): Promise<void> {
    // Another split of the same publication has begun.
    if (this.#seq > 0 && (await this.isOwn())) return;
    const found = await readMark(this.#deps, this.#orb, this.#home);
    if (found?.mark.ends === true) {
      await erase(this.#deps, this.#orb, this.#home, found);
      throw new Conflict();
    }
    const info = found === undefined ? await this.#deps.store.streamInfo(streams.orb(this.#orb)) : null;
    this.#since = found === undefined ? (info?.state.last_seq ?? 0) : (found.mark.since ?? 0);
    await this.#write(found?.seq ?? (await lastSeq(this.#deps, this.#subject, this.#orb)));
  }

  /** Says that the publication still works. @throws Conflict if another process has taken it for interrupted */
  async renew(): Promise<void> {
    if (this.#deps.clock.now() - this.#at >= RENEW_MS) await this.#write(this.#seq);
  }

  /** Returns whether no other process has taken the publication for interrupted. */
  async isOwn(): Promise<boolean> {
    return (await readMark(this.#deps, this.#orb, this.#home))?.seq === this.#seq;
  }

  /** Erases the entries that the publication has made, because it is refused. */
  async withdraw(): Promise<void> {
    const found = await readMark(this.#deps, this.#orb, this.#home);
    if (found?.seq === this.#seq) await erase(this.#deps, this.#orb, this.#home, found);
  }
}

interface FoundMark {
  mark: StoredMark;
  seq: number;
}

const parsed = (message: StoredMessage | null): FoundMark | undefined =>
  message === null || message.size === 0 ? undefined : { mark: message.json<StoredMark>(), seq: message.seq };

async function readMark({ store }: Pick<Deps, "store">, orb: string, home: Home) {
  const subject = subjects.splitMark({ orb, ...home });
  return parsed(await nullIfMissing(store.get(streams.orb(orb), subject)));
}

/** Returns the sequence number that the next message of a subject must expect. */
async function lastSeq({ store }: Pick<Deps, "store">, subject: string, orb: string): Promise<number> {
  return (await nullIfMissing(store.get(streams.orb(orb), subject)))?.seq ?? 0;
}

/**
 * Erases the entries of all publications of an orb that were interrupted, and removes the marks of those that were
 * finished.
 * @returns `erased` says whether there were any; `isBusy` whether publications may still be running
 */
export async function eraseUnfinished(
  deps: Deps,
  orb: string,
): Promise<{ erased: boolean; isBusy: boolean }> {
  const page = async (fromSeq: number) =>
    (await nullIfMissing(
      deps.store.scan(streams.orb(orb), subjects.splitMarks(orb), {
        ...{ fromSeq, limit: PAGE, maxBytes: indexBytes(PAGE) },
      }),
    )) ?? { messages: [], pending: 0 };
  const done = { erased: false, isBusy: false };
  for await (const messages of scanPages(page))
    for (const message of messages) {
      const found = parsed(message);
      if (found === undefined) continue;
      const [, , type = "", schema = ""] = message.subject.split(".");
      const home = parsedHome(type, schema);
      const age = deps.clock.now() - Date.parse(found.mark.at);
      if (await isPublished(deps, orb, home)) await free(deps, orb, home, found.seq);
      else if (found.mark.ends !== true && Math.abs(age) < ABANDONED_MS) done.isBusy = true;
      else if (await erase(deps, orb, home, found)) done.erased = true;
    }
  return done;
}

/** Returns whether the definition that entries follow has a schema, or had it. */
async function isPublished(deps: Deps, orb: string, home: Home): Promise<boolean> {
  const head = await orbHead(deps, orb);
  return !exists(head) || (await hasSchema(deps, orb, head, home));
}

async function hasSchema(deps: Deps, orb: string, head: ExistingOrb, home: Home): Promise<boolean> {
  const { document, names } = await entryDefinitionOf(deps, orb, head);
  const table = new NameTable(names);
  const wanted = homeKey(home);
  const isIt = ({ moduleType, schema }: Retired) => homeKey(homeOf(moduleType, schema)) === wanted;
  return (
    document.modules.some(({ type, schemas }) =>
      schemas.some(({ id }) => homeKey(storedHome(table, type, id)) === wanted),
    ) || (head.retired ?? []).some(isIt)
  );
}

/**
 * Erases the entries that an interrupted publication has made. If it was not interrupted, it finds that, and begins
 * again. If it has been published meanwhile, nothing is erased.
 * @returns whether entries were erased
 * @throws Conflict if other processes do this too
 */
async function erase(deps: Deps, orb: string, home: Home, { mark, seq }: FoundMark): Promise<boolean> {
  const stream = streams.orb(orb);
  const subject = subjects.splitMark({ orb, ...home });
  let last = seq;
  // The mark comes first: a publication looks at it before it commits what it has made, and begins again.
  if (mark.ends !== true) {
    const ends: StoredMark = { ...mark, ends: true };
    last = await deps.store.append(stream, {
      ...{ subject, data: JSON.stringify(ends), rollup: true, expect: { seq } },
    });
  }
  await stopPublications(deps, orb);
  // From now on, no publication that began earlier can be committed. So its commit is in the history, or never will be.
  const head = await settleAwaited(deps, orb, true);
  const isKept = !exists(head) || (await hasSchema(deps, orb, head, home));
  if (!isKept) {
    const fence = (await liveRecord(deps, orb))?.record.fence;
    await eraseMade(deps, { ...contextOf(orb, { names: undefined, ...mark }), fence }, home, mark.since ?? 0);
    const end = ((await deps.store.streamInfo(stream))?.state.last_seq ?? 0) + 1;
    // A publication that begins now replaces the mark first, so what it writes comes later.
    if ((await readMark(deps, orb, home))?.seq !== last) throw new Conflict();
    for (const filter of subjects.orderedIndexes({ orb, ...home }))
      await deps.store.purge(stream, filter, { beforeSeq: end });
  }
  await free(deps, orb, home, last);
  return !isKept;
}

/** Removes a mark. */
async function free(deps: Deps, orb: string, home: Home, seq: number): Promise<void> {
  const subject = subjects.splitMark({ orb, ...home });
  const gone = { subject, data: "", rollup: true, ttl: GONE_SECONDS, expect: { seq } };
  await deps.store.append(streams.orb(orb), gone);
}
