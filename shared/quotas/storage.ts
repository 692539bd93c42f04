/** Limits the bytes that an orb stores. The broker knows the size of its stream, and each process asks for it regularly. */
import type { Deps } from "../deps.ts";
import { streams } from "../store/subjects.ts";
import { PerHost } from "./per-host.ts";
import { orbFull } from "./refusals.ts";

/** Milliseconds until a process asks for the size again. */
const LOOK_MS = 2_000;
/** A process may write one part in this many of the free room before it asks again. */
const SHARE = 20;
/** Bytes that a process may write before the broker answers: at most this, and at most one part in so many of the quota. */
const AHEAD = 1024 * 1024;
const AHEAD_SHARE = 100;
/** Orbs that one process remembers. */
const REMEMBERED = 10_000;

/** The bytes that this process may write into an orb before it asks again. */
interface Allowance {
  left: number;
  /** Bytes that this process has taken so far. */
  taken: number;
  /** When to ask again; milliseconds since the epoch. */
  until: number;
  /** Whether the orb had no free room at all. */
  full: boolean;
}

const rooms = new PerHost<Allowance>(REMEMBERED);

function take(room: Allowance, bytes: number): boolean {
  if (room.left < bytes) return false;
  room.left -= bytes;
  room.taken += bytes;
  return true;
}

/**
 * Asks for the size of the orb's stream, and takes room. One request.
 * @returns whether there is room
 */
async function look(deps: Deps, orb: string, room: Allowance, bytes: number): Promise<boolean> {
  const { orbBytes } = deps.config.quotas;
  room.until = deps.clock.now() + LOOK_MS;
  const before = room.taken;
  const info = await deps.store.streamInfo(streams.orb(orb));
  const free = orbBytes - (info?.state.bytes ?? 0);
  room.full = free <= 0;
  // The answer may not include writes that took room meanwhile.
  const meanwhile = room.taken - before;
  // Other processes write too, so allow a share only. A write that fits is never refused.
  const share = Math.max(Math.floor(free / SHARE), bytes + meanwhile);
  room.left = Math.max(0, Math.min(free, share) - meanwhile);
  return take(room, bytes);
}

/**
 * Takes room for a write. The size at the broker does not include writes under way, so processes together may exceed the
 * quota by their shares.
 * @throws AppError full `orb_full`
 */
export async function requireStorage(deps: Deps, orb: string, bytes: number): Promise<void> {
  const { orbBytes } = deps.config.quotas;
  if (orbBytes === 0) return;
  const ahead = Math.min(AHEAD, Math.floor(orbBytes / AHEAD_SHARE));
  const room =
    rooms.get(deps.config, orb) ??
    rooms.set(deps.config, orb, { left: ahead, taken: 0, until: 0, full: false });
  const stale = deps.clock.now() >= room.until;
  if (stale && room.left >= bytes) {
    // Use the rest of the old share while the broker answers.
    room.left = Math.min(room.left, Math.max(ahead, bytes));
    deps.afterwards(look(deps, orb, room, 0));
  }
  if (take(room, bytes)) return;
  if ((room.full && !stale) || !(await look(deps, orb, room, bytes))) throw orbFull(orbBytes);
}
