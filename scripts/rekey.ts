/**
 * `npm run rekey` encrypts every entry and every stored secret with the new keys. Run it after a change of
 * ENCRYPTION_KEYS or CLAIM_KEY.
 */
import { system } from "../shared/access/actor.ts";
import { resealInvitations } from "../shared/access/invitations.ts";
import { resealProposals } from "../shared/changes/proposal/index.ts";
import { definitionFor, unreadableAt } from "../shared/definition/stored/index.ts";
import type { Deps } from "../shared/deps.ts";
import { type RekeyProgress, rekeyEntries } from "../shared/entry/index.ts";
import { resealSecrets } from "../shared/hooks/after/index.ts";
import { completeIndexes } from "../shared/orb/complete-indexes.ts";
import { listOrbs } from "../shared/orb/read.ts";
import { resealProviders } from "../shared/orb/reseal.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith } from "./process/failure.ts";

const ORBS_PER_PAGE = 200;

export interface RekeyResult extends RekeyProgress {
  /** Number of client secrets, webhook secrets and invitations that were encrypted again. */
  secrets: number;
}

/** Returns whether a newer version stored the definition, so that this one must leave the application as it is. */
async function isUnreadable(deps: Deps, orb: string): Promise<boolean> {
  try {
    await definitionFor(deps, orb);
    return false;
  } catch (error) {
    if (unreadableAt(error) === undefined) throw error;
    return true;
  }
}

/**
 * Encrypts all entries and secrets again.
 * @param tell receives the progress after each page of entries
 */
export async function rekey(
  settings: Settings,
  tell: (orb: string, progress: RekeyProgress) => void,
): Promise<RekeyResult> {
  const total: RekeyResult = { entries: 0, resealed: 0, secrets: 0, failed: [], conflicts: [] };
  await withRunningPlatform(settings, "fn", async (deps) => {
    total.secrets += await resealInvitations(deps);
    await completeIndexes(deps, new Map());
    let after: number | undefined;
    do {
      const page = await listOrbs(deps, system, { limit: ORBS_PER_PAGE, after });
      for (const { id } of page.orbs.map(({ document }) => document)) {
        if (await isUnreadable(deps, id)) {
          total.failed.push(`${id}: a newer version stored its definition`);
          continue;
        }
        const [providers, proposed, webhooks] = [
          await resealProviders(deps, system, id),
          await resealProposals(deps, id),
          await resealSecrets(deps, id),
        ];
        total.secrets += providers.done.length + proposed.done.length + webhooks.done.length;
        for (const provider of [...providers.failed, ...proposed.failed])
          total.failed.push(`${id}: client secret of ${provider}`);
        total.failed.push(...webhooks.failed.map((hook) => `${id}: secret of ${hook}`));
        const orb = await definitionFor(deps, id);
        if (orb === null) continue;
        let last: RekeyProgress | undefined;
        for await (const progress of rekeyEntries(deps, system, { orb })) {
          last = progress;
          tell(id, progress);
        }
        if (last === undefined) continue;
        total.entries += last.entries;
        total.resealed += last.resealed;
        total.failed.push(...last.failed.map((entry) => `${id}/${entry}`));
        total.conflicts.push(...last.conflicts.map((entry) => `${id}/${entry}`));
      }
      after = page.next ?? undefined;
    } while (after !== undefined);
  });
  return total;
}

if (import.meta.main) {
  try {
    readArguments("npm run rekey");
    const { entries, resealed, secrets, failed, conflicts } = await rekey(
      readSettings(process.env),
      (orb, progress) => {
        console.log(`${orb}: ${progress.resealed} of ${progress.entries} entries encrypted again`);
      },
    );
    console.log(
      `Done: ${resealed} of ${entries} entries and ${secrets} secrets were encrypted again with the current keys.`,
    );
    if (failed.length > 0) {
      console.log(
        `No configured key decrypts ${failed.length} of them. Add their key to ENCRYPTION_KEYS: ${failed.slice(0, 20).join(", ")}`,
      );
      process.exitCode = 1;
    }
    if (conflicts.length > 0) {
      console.log(
        `${conflicts.length} have a unique value that another entry also has, in the same or another Unicode form. Change it: ${conflicts.slice(0, 20).join(", ")}`,
      );
      process.exitCode = 1;
    }
  } catch (error) {
    exitWith(error);
  }
}
