/** What health checks and admins see of lost data. */
import { type KnownLoss, knownLosses, liveOrb, orbOfLoss } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { isSilence } from "../kernel/errors.ts";

/** Returns what an operator must do about a loss. */
export function lossRemedy({ stream }: Pick<KnownLoss, "stream">): string {
  return `Restore a backup of the stream ${stream}, or keep what is there: npm run doctor -- --accept-loss ${stream}`;
}

export interface LossReport {
  stream?: string | undefined;
  orb?: string | undefined;
  from: number;
  to: number;
  since: string;
  writable: boolean;
  remedy: string;
}

/** Returns all losses, for callers who need not sign in. Does not name orbs that are not published. */
export async function lossReports(deps: Pick<Deps, "store">): Promise<LossReport[]> {
  const losses = await knownLosses(deps).catch((error: unknown) => {
    // A platform whose leader of these settings is gone still works.
    if (isSilence(error)) return [];
    throw error;
  });
  return Promise.all(
    losses.map(async (loss) => {
      const { stream, from, to, at, writable = false } = loss;
      const orb = orbOfLoss(loss);
      const isPublic = orb === undefined || (await liveOrb(deps, orb, "cached").catch(() => null)) !== null;
      return {
        ...(isPublic ? { stream, orb, remedy: lossRemedy(loss) } : { remedy: "Run npm run doctor." }),
        from,
        to,
        since: at,
        writable,
      };
    }),
  );
}

/** Returns what the streams of an application have lost, for platform admins. */
export async function lossesOf(deps: Pick<Deps, "store">, orb: string) {
  const losses = (await knownLosses(deps)).filter((loss) => orbOfLoss(loss) === orb);
  return losses.map((loss) => {
    const { stream, from, to, says, at, writable = false } = loss;
    return { stream, from, to, says, since: at, writable, remedy: lossRemedy(loss) };
  });
}
