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
interface Room {
  left: number;
  /** When to ask again; milliseconds since the epoch. */
  until: number;
  /** Whether the orb had no free room at all. */
  full: boolean;
}

const rooms = new PerHost<Room>(REMEMBERED);

/** Asks for the size of the orb's stream. One request. */
async function look(deps: Deps, orb: string, room: Room, need: number): Promise<void> {
  const { orbBytes } = deps.config.quotas;
  room.until = deps.clock.now() + LOOK_MS;
  const info = await deps.store.streamInfo(streams.orb(orb));
  const free = orbBytes - (info?.state.bytes ?? 0);
  room.full = free <= 0;
  // Other processes write too, so take a share only. A write that fits is never refused.
  const share = Math.max(Math.floor(free / SHARE), need);
  room.left = free < share ? Math.max(0, free) : share;
}

/**
 * Takes room for a write. The size at the broker does not include writes under way, so processes together may exceed the
 * quota by their shares.
 * @throws AppError full `orb_full`
 */
export async function takeRoom(deps: Deps, orb: string, bytes: number): Promise<void> {
  const { orbBytes } = deps.config.quotas;
  if (orbBytes === 0) return;
  const ahead = Math.min(AHEAD, Math.floor(orbBytes / AHEAD_SHARE));
  const room =
    rooms.get(deps.config, orb) ?? rooms.set(deps.config, orb, { left: ahead, until: 0, full: false });
  if (deps.clock.now() >= room.until && room.left >= bytes) {
    // Use the rest of the old share while the broker answers.
    room.left = Math.min(room.left, Math.max(ahead, bytes));
    deps.afterwards(look(deps, orb, room, 0));
  } else if (room.left < bytes) {
    if (!room.full || deps.clock.now() >= room.until) await look(deps, orb, room, bytes);
  }
  if (room.left < bytes) throw orbFull(orbBytes);
  room.left -= bytes;
}
