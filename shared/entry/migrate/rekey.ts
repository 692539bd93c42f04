/**
 * After the encryption keys or the claim keys were changed: seals the newest revision of every entry again, so that the
 * older keys are needed for the history alone, and lets it claim its unique values under the keys that there are now. Each
 * is a revision of its own; what was live without a newer draft stays live by it.
 */
import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { definitionFor } from "../../definition/stored/live.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { holdings } from "../index/held.ts";
import { publishMessages } from "../index/schedules.ts";
import { walkEntries } from "../index/walk.ts";
import { secretOf } from "../model/claims.ts";
import { type LoadedEntry, type OrbContext, schemaOf } from "../model/resolve.ts";
import { needsReseal, resealValues } from "../model/sealing.ts";
import { type EntrySnapshot, hasDraft } from "../model/snapshot.ts";
import { changeEntry } from "../write/change.ts";
import { statusOf } from "../write/update.ts";
import { claimForms } from "./claim-forms.ts";

/** How far a rekeying has come. */
export interface RekeyProgress {
  /** Entries looked at. */
  entries: number;
  /** Entries whose values were sealed again. */
  resealed: number;
  /** Ids of entries that no configured key opens; they were left as they are. */
  failed: string[];
  /** Ids of entries with a unique value that another one has too, in this form or another; they were left as they are. */
  conflicts: string[];
}

/** How many entries are resealed side by side. */
const PARALLEL = 16;

/**
 * Reseals the entries of one orb, and tells after every page how far it has come. Safe beside other writers, and
 * to be run again: what is sealed under the first key is passed over. Entries that a version without normal forms of unique
 * values wrote claim those, without a revision.
 * @throws AppError forbidden, unauthenticated
 */
export async function* rekeyEntries(
  deps: Deps,
  actor: Actor,
  input: { orb: OrbContext },
): AsyncGenerator<RekeyProgress> {
  requireOperator(actor, "entries.manage");
  const { orb } = input;
  const progress: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  const shared = new Set((await claimForms(deps, orb)).flatMap(({ ids }) => ids));
  for await (const page of walkEntries(deps, orb.orb)) {
    // It takes minutes, and an entry goes by the definition of its moment.
    const context = (await definitionFor(deps, orb.orb)) ?? orb;
    for (let i = 0; i < page.length; i += PARALLEL) {
      await Promise.all(
        page.slice(i, i + PARALLEL).map(async (entry) => {
          const { id } = entry.head;
          try {
            if (!(await isOutdated(deps, context, entry))) return;
            if (await resealEntry(deps, actor, context, id)) progress.resealed++;
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            if (error.code === "sealed_value_lost") progress.failed.push(id);
            else if (error.code === "unique_conflict") progress.conflicts.push(id);
            else if (error.code !== "entry_not_found") throw error;
          }
        }),
      );
    }
    progress.entries += page.length;
    yield {
      ...progress,
      failed: [...progress.failed],
      conflicts: [...new Set([...shared, ...progress.conflicts])],
    };
  }
  await audit(deps, {
    realm: orb.orb,
    action: "entry",
    actor,
    outcome: "ok",
    detail: `rekeyed_${progress.resealed}`,
  });
}

/** Whether a value of the newest revision is sealed, or one of it or of what is live is claimed, under other keys. */
async function isOutdated(deps: Deps, orb: OrbContext, entry: LoadedEntry): Promise<boolean> {
  if (needsReseal(deps.config, entry.head.values)) return true;
  const { head, address } = entry;
  const schema = schemaOf(orb.compiled, address);
  if (schema === undefined || head.status === "DELETED") return false;
  if (!schema.unique.some((field) => field.sensitive)) return false;
  // The head does not tell what was claimed for it when the field became unique: what it holds now does.
  const secret = (held: Pick<EntrySnapshot, "claims" | "liveClaims">) =>
    JSON.stringify([secretOf(schema, held.claims), secretOf(schema, held.liveClaims ?? [])]);
  return secret(await holdings(deps, orb, schema, entry)) !== secret(head);
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
          if (!(await isOutdated(deps, state.context, state.entry))) throw new Current();
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
