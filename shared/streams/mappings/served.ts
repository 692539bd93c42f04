/**
 * Tells which streams clients can read. An application's stream can be read only while the application is published.
 */
import { type LiveOrb, lossHeaders } from "../../definition/live-orb.ts";
import { isUnusable, liveOrb } from "../../definition/stored/index.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import type { Mapping } from "./mapping.ts";

/**
 * Returns the published definition of the application that owns a stream. Returns null if the application is not
 * published, undefined if no application owns the stream.
 */
export async function servedAs(store: Store, stream: string): Promise<LiveOrb | null | undefined> {
  const orb = orbOf(stream);
  return orb === undefined ? undefined : liveOrb({ store }, orb, "cached");
}

/** Returns the headers that say that the stream has lost messages. Returns none if its definition cannot be read. */
export async function lossHeadersOf(store: Store, stream: string): Promise<Record<string, string>> {
  const orb = await servedAs(store, stream).catch(() => null);
  return lossHeaders(orb?.fence?.loss);
}

export async function isServed(store: Store, stream: string): Promise<boolean> {
  return (await servedAs(store, stream)) !== null;
}

/**
 * Returns whether clients can read a stream. A published application always has its stream, so that stream is not
 * looked up.
 */
async function isThere(store: Store, stream: string): Promise<boolean> {
  return orbOf(stream) === undefined ? (await store.streamInfo(stream)) !== null : isServed(store, stream);
}

/**
 * Returns the mappings whose streams clients can read. Omits the mappings of an application whose definition
 * cannot be used.
 */
export async function servedMappings(store: Store, mappings: readonly Mapping[]): Promise<Mapping[]> {
  const served = new Map(
    await Promise.all(
      [...new Set(mappings.map(({ stream }) => stream))].map(async (stream) => {
        const answer = await isThere(store, stream).catch((error: unknown) => {
          if (isUnusable(error)) return false;
          throw error;
        });
        return [stream, answer] as const;
      }),
    ),
  );
  return mappings.filter(({ stream }) => served.get(stream) === true);
}
