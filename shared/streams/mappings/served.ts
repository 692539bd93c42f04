/**
 * Decides whether readers can read a stream. An orb's stream is served only while the orb is published, like its
 * routes.
 */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import { AppError } from "../../kernel/errors.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import type { Mapping } from "./mapping.ts";

/**
 * Returns the live definition of the orb that owns the stream. One request, or none if no orb owns it.
 * @returns null if the orb is not published, so that the stream is not served; undefined if no orb owns the stream
 */
export async function servedAs(store: Store, stream: string): Promise<LiveOrb | null | undefined> {
  const orb = orbOf(stream);
  return orb === undefined ? undefined : liveOrb({ store }, orb, "cached");
}

/** Whether the stream is served. One request, or none if no orb owns the stream. */
export async function isServed(store: Store, stream: string): Promise<boolean> {
  return (await servedAs(store, stream)) !== null;
}

/** Whether the stream exists and is served. One request: a live orb always has its stream. */
async function isThere(store: Store, stream: string): Promise<boolean> {
  return orbOf(stream) === undefined ? (await store.streamInfo(stream)) !== null : isServed(store, stream);
}

/**
 * Returns the mappings whose streams are served. One parallel request per stream. A damaged orb definition hides only
 * the mappings of that orb.
 */
export async function servedMappings(store: Store, mappings: readonly Mapping[]): Promise<Mapping[]> {
  const served = new Map(
    await Promise.all(
      [...new Set(mappings.map(({ stream }) => stream))].map(async (stream) => {
        const answer = await isThere(store, stream).catch((error: unknown) => {
          if (error instanceof AppError && error.code === "definition_damaged") return false;
          throw error;
        });
        return [stream, answer] as const;
      }),
    ),
  );
  return mappings.filter(({ stream }) => served.get(stream) === true);
}
