/**
 * The published orbs (applications) by id, without their definitions. Each answer about all orbs begins here and reads
 * the definitions of one page, so its memory and its size do not grow with the number of orbs.
 */
import {
  checkLive,
  type DamagedOrb,
  type LiveSummary,
  storedDefinitions,
  summaryOf,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { buckets, kvSubject, streams } from "../store/subjects.ts";
import type { StreamInfo } from "../store/types.ts";
import { type KnownSummary, readSummaries, writeSummaries } from "./orb-summaries.ts";

type Reader = Pick<Deps, "store" | "log"> & Partial<Pick<Deps, "afterwards" | "readOnly">>;

/** A process that had to read this many definitions stores their summaries for others. */
const MANY_READ = 64;

const STREAM = streams.kv(buckets.orbs);

/** The known state of one key of the bucket. */
interface Known {
  seq: number;
  /** Null if the orb is not published. */
  found: LiveSummary | DamagedOrb | null;
  /** Whether the definition was compiled, which shows further damage. */
  checked: boolean;
}

/** The state of the bucket up to a sequence number. */
interface Read {
  /** Tells the bucket from a later one with the same name. */
  created: string;
  seen: number;
  keys: Map<string, Known>;
  orbs: readonly LiveSummary[];
}

const EMPTY: Read = { created: "", seen: 0, keys: new Map(), orbs: [] };

const isDamaged = (found: Known["found"]): found is DamagedOrb => found !== null && "reason" in found;

function orbsOf(keys: ReadonlyMap<string, Known>): LiveSummary[] {
  return [...keys.values()]
    .flatMap(({ found }) => (found === null || isDamaged(found) ? [] : [found]))
    .sort((a, b) => (a.orb < b.orb ? -1 : 1));
}

/** Returns the state that another process has stored. */
async function summarized(deps: Reader, { created }: StreamInfo): Promise<Read | undefined> {
  const found = await readSummaries(deps, created);
  if (found === undefined) return undefined;
  const keys = new Map([...found.keys].map(([key, one]) => [key, { ...one, checked: false }]));
  return { created, seen: found.upTo, keys, orbs: [] };
}

/** Stores the state for other processes, if it took long to read. */
function share(deps: Reader, { created, seen, keys }: Read, start: Read): void {
  if (deps.afterwards === undefined || deps.readOnly === true) return;
  const isNew = ([key, { seq }]: [string, Known]) => start.keys.get(key)?.seq !== seq;
  if ([...keys].filter(isNew).length < MANY_READ) return;
  const summaries = new Map<string, KnownSummary>();
  for (const [key, { seq, found }] of keys) {
    // Whether a definition can be used depends on the version of the process.
    if (isDamaged(found)) return;
    summaries.set(key, { seq, found });
  }
  deps.afterwards(writeSummaries(deps, created, { upTo: seen, keys: summaries }));
}

function damagedIn(keys: ReadonlyMap<string, Known>): DamagedOrb[] {
  return [...keys.values()].flatMap(({ found }) => (isDamaged(found) ? [found] : []));
}

export class PublishedOrbs {
  #read = EMPTY;

  /**
   * Returns the published orbs in order of their ids. Returns the same array as long as no definition changed. Reads
   * only the definitions that changed since the last call.
   */
  async list(deps: Reader): Promise<readonly LiveSummary[]> {
    return (await this.#current(deps)).orbs;
  }

  /** Returns the orbs that are known to have a definition that cannot be used. Compiles none. */
  async knownDamaged(deps: Reader): Promise<DamagedOrb[]> {
    return damagedIn((await this.#current(deps)).keys);
  }

  /**
   * Returns the orbs whose stored definition cannot be used. Compiles each definition once.
   * @param most compiles only this many definitions, and leaves the others to later calls
   */
  async damaged(deps: Reader, most = Number.POSITIVE_INFINITY): Promise<DamagedOrb[]> {
    const { keys } = await this.#current(deps);
    const unchecked = [...keys.values()].filter(({ checked, found }) => !checked && found !== null);
    const first = unchecked.reduce((least, { seq }) => Math.min(least, seq), Number.POSITIVE_INFINITY);
    let compiled = 0;
    for await (const { entry } of unchecked.length === 0 ? [] : storedDefinitions(deps, first)) {
      const known = keys.get(entry.key);
      if (known === undefined || known.checked || known.seq !== entry.revision) continue;
      if (compiled === most) break;
      compiled++;
      known.checked = true;
      if (known.found === null || isDamaged(known.found)) continue;
      known.found = checkLive(entry) ?? known.found;
      if (isDamaged(known.found)) logDamage(deps, known.found);
    }
    return damagedIn(keys);
  }

  async #current(deps: Reader): Promise<Read> {
    const info = await deps.store.streamInfo(STREAM);
    if (info === null) return EMPTY;
    const known = this.#read;
    const same = known.created === info.created;
    if (same && known.seen >= info.state.last_seq && known.keys.size === info.state.messages) return known;
    const start = same ? known : await summarized(deps, info);
    const more = start === undefined ? undefined : await this.#extended(deps, info, start);
    const read = more ?? (await this.#extended(deps, info, EMPTY));
    if (read !== undefined) share(deps, read, more === undefined ? EMPTY : (start ?? EMPTY));
    // A replica with old data may have answered, or a deletion marker has expired. Do not keep such a state.
    if (read !== undefined) this.#read = read;
    return read ?? this.#from(deps, info, EMPTY);
  }

  /** Reads the changes after a known state. Returns undefined if the result is not the whole bucket. */
  async #extended(deps: Reader, info: StreamInfo, known: Read): Promise<Read | undefined> {
    const read = await this.#from(deps, info, known);
    if (read.keys.size !== info.state.messages) return undefined;
    if (read.seen >= info.state.last_seq) return read;
    // The last message of the bucket may be a deletion marker that has expired.
    const newest = await deps.store.get(STREAM, kvSubject(buckets.orbs, ">"));
    if (read.seen < (newest?.seq ?? 0)) return undefined;
    return { ...read, seen: info.state.last_seq };
  }

  async #from(deps: Reader, info: StreamInfo, known: Read): Promise<Read> {
    const keys = new Map(known.keys);
    let { seen } = known;
    for await (const { entry, deleted } of storedDefinitions(deps, seen + 1)) {
      const found = deleted ? null : summaryOf(entry);
      keys.set(entry.key, { seq: entry.revision, found, checked: false });
      seen = entry.revision;
      if (isDamaged(found)) logDamage(deps, found);
    }
    return { created: info.created, seen, keys, orbs: orbsOf(keys) };
  }
}

function logDamage({ log }: Pick<Deps, "log">, { orb, reason, at }: DamagedOrb): void {
  const newer = reason === "newer_version";
  log.error(newer ? "a newer version stored the definition" : "stored definition is damaged", {
    orb,
    reason,
    ...(at === undefined ? {} : { at }),
  });
}
