/**
 * Counts the requests of each application in the memory of this process, because a request must not wait for the broker
 * to count it. `stored.ts` adds the counts to those of other processes, after a response was sent.
 */
import { BoundedMap } from "../kernel/bounded-map.ts";
import { isToken } from "../store/subjects.ts";
import { Counts, type ErrorCount, HOUR_MS, type ListCount, USAGE_LIMITS } from "./counts.ts";

/** Milliseconds until counts are stored; sooner if there is something that admins should know. */
const STORE_MS = 30_000;
const STORE_SOON_MS = 3_000;
/** Maximum hours of applications in memory. */
const REMEMBERED = 2_000;
/**
 * Maximum hours of applications of which no request has succeeded. Anyone can name applications that do not exist, and
 * is refused before the platform looks for them. Such names must leave room for applications that exist.
 */
const DOUBTFUL = 100;
/** Applications that are known to exist. */
const KNOWN = 10_000;

/** Counts of an application in one hour. */
export interface Gathered {
  orb: string;
  /** Hours since 1970. */
  hour: number;
  counts: Counts;
}

interface Memory {
  counts: Map<string, Gathered>;
  known: BoundedMap<string, true>;
  /** How many of the counts are of applications that may not exist. */
  doubtful: number;
  /** When to store the counts, in milliseconds since the epoch. Undefined if there are none. */
  due: number | undefined;
}

const NEVER = Number.POSITIVE_INFINITY;

/** The memory of each host. A host is known by its settings, because a process may run several. */
const memories = new WeakMap<object, Memory>();

function memoryOf(host: object): Memory {
  const known = memories.get(host);
  if (known !== undefined) return known;
  const memory: Memory = { counts: new Map(), known: new BoundedMap(KNOWN), doubtful: 0, due: undefined };
  memories.set(host, memory);
  return memory;
}

/** Returns the counts to add to, or undefined if there is no room for another application. */
function countsOf(host: object, orb: string, now: number, withinMs: number): Counts | undefined {
  const memory = memoryOf(host);
  const hour = Math.floor(now / HOUR_MS);
  const key = `${hour} ${orb}`;
  let found = memory.counts.get(key);
  if (found === undefined) {
    const isKnown = memory.known.has(orb);
    const isFull = memory.counts.size >= REMEMBERED || (!isKnown && memory.doubtful >= DOUBTFUL);
    if (isFull || !isToken(orb)) return undefined;
    if (!isKnown) memory.doubtful++;
    found = { orb, hour, counts: new Counts() };
    memory.counts.set(key, found);
  }
  memory.due = Math.min(memory.due ?? NEVER, now + withinMs);
  return found.counts;
}

export interface EndedRequest {
  orb: string;
  now: number;
  status: number;
  method: string;
  route: string;
  /** Code of the problem in the response, if it has one. */
  code: string | undefined;
  requestId: string;
}

/** Longest code that is told apart. A service chooses the codes of its own errors. */
const CODE_LENGTH = 64;

/** Counts a request that has ended. */
export function countRequest(host: object, request: EndedRequest): void {
  const { orb, now, status, method, route, code = `http_${status}`, requestId } = request;
  // A browser may ask for any address whether it may send a request there.
  if (code === "orb_not_found" || method === "OPTIONS") return;
  const failed = status >= 400;
  if (!failed) {
    const { known } = memoryOf(host);
    if (!known.has(orb)) known.set(orb, true);
  }
  const counts = countsOf(host, orb, now, failed ? STORE_SOON_MS : STORE_MS);
  if (counts === undefined) return;
  counts.requests++;
  if (!failed) return;
  counts.failed++;
  const error: ErrorCount = {
    ...{ status, code: code.slice(0, CODE_LENGTH), method, route },
    ...{ count: 1, requestId, at: new Date(now).toISOString() },
  };
  counts.error(error);
}

/** Counts a list that compared entries one by one. @param now milliseconds since the epoch */
export function countList(
  host: object,
  list: Omit<ListCount, "count" | "at"> & { orb: string; now: number },
): void {
  const { orb, now, module, schema, read } = list;
  const conditions = list.conditions.slice(0, USAGE_LIMITS.names);
  const sort = list.sort.slice(0, USAGE_LIMITS.names);
  countsOf(host, orb, now, STORE_SOON_MS)?.list({
    ...{ module, schema, conditions, sort, read },
    ...{ count: 1, at: new Date(now).toISOString() },
  });
}

/** Returns whether the counts of a host should be stored now. The caller must then call {@link takeCounts}. */
export function isDue(host: object, now: number): boolean {
  const memory = memories.get(host);
  if (memory?.due === undefined || now < memory.due) return false;
  memory.due = undefined;
  return true;
}

/** Takes the counts of a host from memory: all, or those of one application. */
export function takeCounts(host: object, orb?: string): Gathered[] {
  const memory = memories.get(host);
  if (memory === undefined) return [];
  const taken = [...memory.counts].filter(([, one]) => orb === undefined || one.orb === orb);
  for (const [key] of taken) memory.counts.delete(key);
  memory.doubtful = [...memory.counts.values()].filter((one) => !memory.known.has(one.orb)).length;
  return taken.map(([, one]) => one);
}

/** Puts counts back that could not be stored. */
export function putBack(host: object, { orb, hour, counts }: Gathered, now: number): void {
  countsOf(host, orb, hour * HOUR_MS, now - hour * HOUR_MS + STORE_MS)?.add(counts.stored());
}
