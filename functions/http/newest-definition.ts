/** Reads that begin again if a newer definition was published meanwhile. */
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Deps } from "../../shared/deps.ts";

/** Definitions, and the newest revision for which they are known to be the live one. */
const confirmed = new WeakMap<LiveOrb, number>();
/** Times that a read begins again. */
const READ_AGAIN = 3;

/**
 * Runs a read. If it meets an entry that was written with a newer definition than the one that it has begun with, it runs
 * again with that definition. So no response has entries of a publication in a shape from before.
 * @param known the definition to begin with; the read may begin before it is there
 * @param renew reads the definition from the broker's leader
 */
export async function withNewest<T>(
  deps: Deps,
  known: LiveOrb | Promise<LiveOrb>,
  renew: () => Promise<LiveOrb>,
  read: (live: LiveOrb | Promise<LiveOrb>, pass: number) => Promise<T>,
): Promise<T> {
  let begun = known;
  for (let pass = 1; ; pass++) {
    let newest = 0;
    deps.sawDefinition = (revision) => {
      newest = Math.max(newest, revision);
    };
    // An entry may be refused or not found only because of the older definition.
    const outcome = await read(begun, pass).then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error;
      },
    );
    const live = await begun;
    if (newest <= Math.max(live.revision, confirmed.get(live) ?? 0) || pass > READ_AGAIN) return outcome();
    const now = await renew();
    if (now.revision === live.revision) {
      confirmed.set(live, newest);
      return outcome();
    }
    begun = now;
  }
}
