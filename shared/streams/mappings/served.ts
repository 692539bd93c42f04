/** An orb's stream is served only while the orb is published. */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import { AppError } from "../../kernel/errors.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import type { Mapping } from "./mapping.ts";

/** @returns the published definition; null if the orb is not published; undefined if no orb owns the stream */
export async function servedAs(store: Store, stream: string): Promise<LiveOrb | null | undefined> {
  const orb = orbOf(stream);
  return orb === undefined ? undefined : liveOrb({ store }, orb, "cached");
}

export async function isServed(store: Store, stream: string): Promise<boolean> {
  return (await servedAs(store, stream)) !== null;
}

/** A published orb always has its stream, so one request is enough. */
async function isThere(store: Store, stream: string): Promise<boolean> {
  return orbOf(stream) === undefined ? (await store.streamInfo(stream)) !== null : isServed(store, stream);
}

/** Returns the mappings that readers can use. A broken orb hides only its own mappings. */
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
