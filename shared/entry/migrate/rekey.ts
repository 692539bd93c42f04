/**
 * Key rotation: encrypts the newest revision of every entry with the current key, and appends it as a new revision. Also
 * encrypts the pending versions of change sets.
 * Afterwards, older keys are needed only to read older revisions.
 */

import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { definitionFor } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { pagesOf, untilWritten } from "../../store/pages.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import { entryKeys, publishMessages, scanEntries } from "../index/index.ts";
import {
  addressIn,
  type EntrySnapshot,
  hasDraft,
  type LoadedEntry,
  namedEntry,
  needsReseal,
  type OrbContext,
  remembered,
  resealValues,
  schemaOf,
  secretOf,
  snapshotOf,
  withNames,
  withStoredNames,
} from "../model/index.ts";
import { changeEntry, statusOf } from "../write/index.ts";
import { backfillForms } from "./backfill-forms.ts";

export interface RekeyProgress {
  entries: number;
  resealed: number;
  /** Ids of entries that cannot be decrypted, because their encryption key is missing. They stay unchanged. */
  failed: string[];
  /**
   * Ids of entries that share a unique value with another entry, and so cannot be written again. They stay unchanged.
   */
  conflicts: string[];
}

/**
 * Encrypts the entries of one application with the current key. Yields the progress after every page. Calling it again
 * is safe.
 */
export async function* rekeyEntries(
  deps: Deps,
  actor: Actor,
  input: { orb: OrbContext },
): AsyncGenerator<RekeyProgress> {
  requireOperator(actor, "entries.rekey", input.orb.orb);
  const { orb } = input;
  const progress: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  const filled = await backfillForms(deps, orb);
  const shared = new Set(filled.shared.flatMap(({ ids }) => ids));
  for await (const page of scanEntries(deps, orb.orb)) {
    // The loop over all entries may take minutes, so read the active definition again for each page.
    const context = (await definitionFor(deps, orb.orb)) ?? orb;
    await inParallel(page, async (stored) => {
      const entry = namedEntry(context.compiled, stored);
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
    });
    progress.entries += page.length;
    yield {
      ...progress,
      failed: [...progress.failed],
      conflicts: [...new Set([...shared, ...progress.conflicts])],
    };
  }
  const versions = await rekeyVersions(deps, (await definitionFor(deps, orb.orb)) ?? orb);
  progress.resealed += versions.resealed;
  progress.failed.push(...versions.failed);
  if (versions.resealed + versions.failed.length > 0)
    yield { ...progress, conflicts: [...new Set([...shared, ...progress.conflicts])] };
  await audit(deps, { realm: orb.orb, action: "entry", actor, detail: `rekeyed_${progress.resealed}` });
}

async function isOutdated(deps: Deps, orb: OrbContext, entry: LoadedEntry): Promise<boolean> {
  if (needsReseal(deps.config, entry.head.values)) return true;
  const { head, address } = entry;
  const schema = schemaOf(orb.compiled, address);
  if (schema === undefined || head.status === "DELETED") return false;
  if (!schema.unique.some((field) => field.sensitive)) return false;
  // A field may have become unique after the entry was stored. Then the entry lacks index keys, so compute them.
  const secret = (held: Pick<EntrySnapshot, "claims" | "liveClaims">) =>
    JSON.stringify([secretOf(schema, held.claims), secretOf(schema, held.liveClaims ?? [])]);
  return secret(await entryKeys(deps, orb, schema, entry)) !== secret(head);
}

/**
 * Thrown inside the write of an entry to stop it, because another process has already encrypted the entry with the
 * current key.
 */
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
            values: await resealValues(deps.config, state.schema, base),
            // If the original revision was published, publish the encrypted one too.
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

const VERSIONS_PER_READ = 200;

interface RekeyedVersions {
  resealed: number;
  /** Ids of entries whose versions cannot be decrypted, because their encryption key is missing. */
  failed: string[];
}

/**
 * Encrypts the pending versions of entries in all change sets, also of those that were published or closed. Approvals
 * of a set stay valid.
 */
async function rekeyVersions(deps: Deps, context: OrbContext): Promise<RekeyedVersions> {
  const { orb } = context;
  const done: RekeyedVersions = { resealed: 0, failed: [] };
  const filter = subjects.allChangeVersions(orb);
  const page = { limit: VERSIONS_PER_READ, maxBytes: READ_BYTES };
  for await (const versions of pagesOf(deps.store, streams.orb(orb), filter, page)) {
    for (const { subject } of versions) {
      try {
        if (await untilWritten(() => resealVersion(deps, context, subject))) done.resealed++;
      } catch (error) {
        if (!(error instanceof AppError && error.code === "sealed_value_lost")) throw error;
        done.failed.push(lastToken(subject));
      }
    }
  }
  return done;
}

async function resealVersion(deps: Deps, { orb, compiled }: OrbContext, subject: string): Promise<boolean> {
  const message = await deps.store.get(streams.orb(orb), subject);
  const stored = snapshotOf(message);
  if (message === null || stored === null) return false;
  const schema = schemaOf(compiled, addressIn(subject));
  const named = withNames(schema, stored);
  if (!needsReseal(deps.config, named.values)) return false;
  const values = await resealValues(deps.config, schema, named);
  const body = {
    ...stored,
    values: withStoredNames(schema, { ...named, values: remembered(values, named.values) }).values,
  };
  await deps.store.append(streams.orb(orb), {
    subject,
    data: JSON.stringify(body),
    rollup: true,
    expect: { seq: message.seq },
  });
  return true;
}
