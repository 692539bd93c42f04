/** Whether a stream is there for readers: an orb's is for as long as the orb is published, as its routes are. */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import { AppError } from "../../kernel/errors.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import type { Mapping } from "./mapping.ts";

/**
 * The live definition of the orb whose stream it is; null when there is none, and the stream is not served; undefined for
 * a stream that is no orb's. One request, or none.
 */
export async function servedAs(store: Store, stream: string): Promise<LiveOrb | null | undefined> {
  const orb = orbOf(stream);
  return orb === undefined ? undefined : liveOrb({ store }, orb, "told");
}

/** One request; none for a stream that is no orb's. */
export async function isServed(store: Store, stream: string): Promise<boolean> {
  return (await servedAs(store, stream)) !== null;
}

/** Whether a reader would find it. One request: an orb that is live has its stream. */
async function isThere(store: Store, stream: string): Promise<boolean> {
  return orbOf(stream) === undefined ? (await store.streamInfo(stream)) !== null : isServed(store, stream);
}

/** Mappings whose streams are there. One request for each stream, all at once; a damaged orb hides none of the others. */
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
