/**
 * Lets the writes of this process that change the same entry take turns. Without turns, 50 clients that change one entry
 * at the same time would meet about 1,200 conflicts. The broker decides anyway: turns only save attempts, so a write
 * whose turn does not come goes ahead.
 */
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { pause } from "../../kernel/pause.ts";

/** Milliseconds between two looks of the write whose turn is next. Those behind it look less often. */
const LOOK_MS = 1;
const MOST_LOOK_MS = 250;
/** A waiting write that has not looked for this many milliseconds was probably cancelled. */
const WAITING_MS = 1_000;
/** Milliseconds that a write may keep its turn. A cancelled request cannot give it back. */
const HELD_MS = 3_000;
const PATIENCE_MS = 10_000;
/** Maximum entries whose writes take turns. The writes of a forgotten entry queue up again, in another order. */
const MOST_QUEUES = 5_000;

interface Turn {
  until: number;
  /** Position in the order of arrival. */
  number: number;
}

interface Queue {
  /** Oldest first. */
  turns: Set<Turn>;
  last: number;
}

/** The queue of each entry. Cancelled requests leave queues behind. */
const queues = new BoundedMap<string, Queue>(MOST_QUEUES);

/**
 * Returns how many writes are at most before a turn: some of them may have left already. A turn that was removed is added
 * at the end.
 */
function writesBefore(key: string, turn: Turn): number {
  const now = Date.now();
  const queue = queues.get(key) ?? { turns: new Set(), last: 0 };
  queues.set(key, queue);
  for (const one of queue.turns) {
    if (one === turn || one.until > now) break;
    queue.turns.delete(one);
  }
  if (!queue.turns.has(turn)) {
    turn.number = ++queue.last;
    queue.turns.add(turn);
  }
  const [front = turn] = queue.turns;
  return turn.number - front.number;
}

function leave(key: string, turn: Turn): void {
  const queue = queues.get(key);
  if (queue?.turns.delete(turn) === true && queue.turns.size === 0) queues.delete(key);
}

/**
 * Runs a write when no other write of this process holds one of the keys. Waiting writes look at the queue, because in
 * Workers a request must not resolve a promise that another request awaits.
 */
export async function inTurn<T>(keys: readonly string[], write: () => Promise<T>): Promise<T> {
  // All writes take their keys in the same order. Otherwise two of them could wait for each other.
  const ordered = [...new Set(keys)].sort();
  const taken: { key: string; turn: Turn }[] = [];
  const started = Date.now();
  try {
    for (const key of ordered) {
      const turn = { until: started + WAITING_MS, number: 0 };
      taken.push({ key, turn });
      for (let place = writesBefore(key, turn); place > 0; place = writesBefore(key, turn)) {
        if (Date.now() - started > PATIENCE_MS) break;
        turn.until = Date.now() + WAITING_MS;
        await pause(Math.min(MOST_LOOK_MS, place * LOOK_MS));
      }
      for (const each of taken) each.turn.until = Date.now() + HELD_MS;
    }
    return await write();
  } finally {
    for (const { key, turn } of taken) leave(key, turn);
  }
}
