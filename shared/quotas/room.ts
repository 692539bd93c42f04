/** How much room an orb has left: the broker knows the bytes of its stream, and each process asks now and then. */
import type { Deps } from "../deps.ts";
import { streams } from "../store/subjects.ts";
import { PerHost } from "./per-host.ts";
import { orbFull } from "./refusals.ts";

/** Milliseconds that an answer of the broker counts. */
const LOOK_MS = 2_000;
/** A process fills this part of the room that is left before it looks again. */
const SHARE = 20;
/** Bytes that it fills before it has looked, at most, and the part of all room that this may be. */
const AHEAD = 1024 * 1024;
const AHEAD_SHARE = 100;
/** Orbs that one process remembers. */
const REMEMBERED = 10_000;

/** What one process may still write into an orb before it looks again. */
interface Room {
  left: number;
  /** When to look again, milliseconds since 1970. */
  until: number;
  /** Whether there was nothing left at all. */
  full: boolean;
}

const rooms = new PerHost<Room>(REMEMBERED);

/** One request. */
async function look(deps: Deps, orb: string, room: Room, need: number): Promise<void> {
  const { orbBytes } = deps.config.quotas;
  room.until = deps.clock.now() + LOOK_MS;
  const info = await deps.store.streamInfo(streams.orb(orb));
  const free = orbBytes - (info?.state.bytes ?? 0);
  room.full = free <= 0;
  // A share of it, as others fill it too; but what is asked for is not refused while it fits.
  const share = Math.max(Math.floor(free / SHARE), need);
  room.left = free < share ? Math.max(0, free) : share;
}

/**
 * Takes room for what is about to be stored. What others write at the same moment is not seen: several processes, and
 * writes under way, may pass the quota by what each of them was given.
 * @throws AppError full `orb_full`
 */
export async function takeRoom(deps: Deps, orb: string, bytes: number): Promise<void> {
  const { orbBytes } = deps.config.quotas;
  if (orbBytes === 0) return;
  const ahead = Math.min(AHEAD, Math.floor(orbBytes / AHEAD_SHARE));
  const room =
    rooms.get(deps.config, orb) ?? rooms.set(deps.config, orb, { left: ahead, until: 0, full: false });
  if (deps.clock.now() >= room.until && room.left >= bytes) {
    // What is left is lent while the broker is asked.
    room.left = Math.min(room.left, Math.max(ahead, bytes));
    deps.afterwards(look(deps, orb, room, 0));
  } else if (room.left < bytes) {
    if (!room.full || deps.clock.now() >= room.until) await look(deps, orb, room, bytes);
  }
  if (room.left < bytes) throw orbFull(orbBytes);
  room.left -= bytes;
}
