/**
 * Limits the bytes that an orb (application) stores. Each process regularly asks the broker for the size of the orb's
 * two streams, which store entries and files.
 */
import type { Deps } from "../deps.ts";
import { PerHost } from "../kernel/bounded-map.ts";
import { fileStream } from "../store/file-subjects.ts";
import { streams } from "../store/subjects.ts";
import { orbFull } from "./refusals.ts";

/** Milliseconds until a process asks the broker again for the size of a stream. */
const LOOK_MS = 2_000;
/** A process may write 1/n of the free space before it asks again for the size, because other processes write too. */
const SHARE = 20;
/** Before the broker has reported the size of the stream, a process may write at most this many bytes. */
const AHEAD = 1024 * 1024;
const AHEAD_SHARE = 100;
const REMEMBERED = 10_000;

/**
 * The bytes that one process may write to an application before it asks the broker again for the size of the stored
 * data.
 */
interface Allowance {
  left: number;
  taken: number;
  /** Time at which to ask the broker again for the size of the stream, in milliseconds since the epoch. */
  until: number;
  full: boolean;
}

const rooms = new PerHost<Allowance>(REMEMBERED);

function take(room: Allowance, bytes: number): boolean {
  if (room.left < bytes) return false;
  room.left -= bytes;
  room.taken += bytes;
  return true;
}

/** A stream, and the maximum bytes that it may hold. */
interface Quota {
  stream: string;
  most: number;
}

async function look(deps: Deps, quota: Quota, room: Allowance, bytes: number): Promise<boolean> {
  room.until = deps.clock.now() + LOOK_MS;
  const before = room.taken;
  const info = await deps.store.streamInfo(quota.stream);
  const free = quota.most - (info?.state.bytes ?? 0);
  room.full = free <= 0;
  // This process has allowed more writes while it waited for the broker's answer. The answer may not include those
  // writes, so subtract their bytes.
  const meanwhile = room.taken - before;
  // Allow only a share of the free space, because other processes write too. But never reject a write that fits.
  const share = Math.max(Math.floor(free / SHARE), bytes + meanwhile);
  room.left = Math.max(0, Math.min(free, share) - meanwhile);
  return take(room, bytes);
}

/** Rejects a write if the application is full. Concurrent processes may slightly exceed the quota. */
export function requireStorage(deps: Deps, orb: string, bytes: number): Promise<void> {
  return requireRoom(deps, { stream: streams.orb(orb), most: deps.config.quotas.orbBytes }, bytes);
}

/** Rejects a part of a file if the application's files would exceed their quota. */
export function requireFileStorage(deps: Deps, orb: string, bytes: number): Promise<void> {
  return requireRoom(deps, { stream: fileStream(orb), most: deps.config.quotas.orbFileBytes }, bytes);
}

async function requireRoom(deps: Deps, quota: Quota, bytes: number): Promise<void> {
  const { stream, most } = quota;
  if (most === 0) return;
  const ahead = Math.min(AHEAD, Math.floor(most / AHEAD_SHARE));
  const room =
    rooms.get(deps.config, stream) ??
    rooms.set(deps.config, stream, { left: ahead, taken: 0, until: 0, full: false });
  const stale = deps.clock.now() >= room.until;
  if (stale && room.left >= bytes) {
    // Until the broker reports the new size, the process may use the rest of the bytes that it was allowed before.
    room.left = Math.min(room.left, Math.max(ahead, bytes));
    deps.afterwards(look(deps, quota, room, 0));
  }
  if (take(room, bytes)) return;
  if ((room.full && !stale) || !(await look(deps, quota, room, bytes))) throw orbFull(most);
}
