/**
 * After a new encryption key was put in front: seals the newest revision of every entry again, so that the older keys
 * are needed for the history alone. Each is a revision of its own; what was live without a newer draft stays live by it.
 */
import type { Actor } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { changeEntry } from "./change.ts";
import type { OrbContext } from "./resolve.ts";
import { publishMessages } from "./schedules.ts";
import { needsReseal, resealValues } from "./sealing.ts";
import { hasDraft } from "./snapshot.ts";
import { statusOf } from "./update.ts";
import { walkEntries } from "./walk.ts";

/** How far a rekeying has come. */
export interface RekeyProgress {
  /** Entries looked at. */
  entries: number;
  /** Entries whose values were sealed again. */
  resealed: number;
  /** Ids of entries that no configured key opens; they were left as they are. */
  failed: string[];
}

/** How many entries are resealed side by side. */
const PARALLEL = 16;

/**
 * Reseals the entries of one orb, and tells after every page how far it has come. Safe beside other writers, and
 * to be run again: what is sealed under the first key is passed over.
 * @throws AppError forbidden, unauthenticated
 */
export async function* rekeyEntries(
  deps: Deps,
  actor: Actor,
  input: { orb: OrbContext },
): AsyncGenerator<RekeyProgress> {
  requireOperator(actor, "entries.manage");
  const { orb } = input;
  const progress: RekeyProgress = { entries: 0, resealed: 0, failed: [] };
  for await (const page of walkEntries(deps, orb.orb)) {
    const old = page.map(({ head }) => head).filter((head) => needsReseal(deps.config, head.values));
    for (let i = 0; i < old.length; i += PARALLEL) {
      await Promise.all(
        old.slice(i, i + PARALLEL).map(async ({ id }) => {
          try {
            if (await resealEntry(deps, actor, orb, id)) progress.resealed++;
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            if (error.code === "sealed_value_lost") progress.failed.push(id);
            else if (error.code !== "entry_not_found") throw error;
          }
        }),
      );
    }
    progress.entries += page.length;
    yield { ...progress, failed: [...progress.failed] };
  }
  await audit(deps, {
    realm: orb.orb,
    action: "entry",
    actor,
    outcome: "ok",
    detail: `rekeyed_${progress.resealed}`,
  });
}

/** Thrown to leave an entry as it is: somebody else sealed it again meanwhile. */
class Current extends Error {}

async function resealEntry(deps: Deps, actor: Actor, orb: OrbContext, id: string): Promise<boolean> {
  try {
    await changeEntry(
      deps,
      actor,
      { orbId: orb.orb, orb, id },
      {
        acts: ["update"],
        request: "reseal",
        upkeep: true,
        publishing: (state, made, role) =>
          publishMessages(state.entry.address, role, made, state.entry.head, state.now),
        async decide(state) {
          const { base } = state;
          if (!needsReseal(deps.config, base.values)) throw new Current();
          return {
            operation: "reseal",
            status: statusOf(base),
            values: await resealValues(deps.config, orb.orb, base.id, base.values),
            // Without a draft beside it, what is live is this very revision and goes on with it.
            live:
              base.status === "PUBLISHED" && !hasDraft(base) && state.schema !== undefined
                ? "publish"
                : "keep",
          };
        },
      },
    );
    return true;
  } catch (error) {
    if (error instanceof Current) return false;
    throw error;
  }
}
