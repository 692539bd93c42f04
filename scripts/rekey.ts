/** `npm run rekey` encrypts every entry with the new keys, after a change of ENCRYPTION_KEYS or CLAIM_KEY. */
import { system } from "../shared/access/actor.ts";
import { definitionFor } from "../shared/definition/stored/live.ts";
import { type RekeyProgress, rekeyEntries } from "../shared/entry/index.ts";
import { resealSecrets } from "../shared/hooks/after/secrets.ts";
import { listOrbs } from "../shared/orb/read.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith } from "./process/failure.ts";

const ORBS_PER_PAGE = 200;

/**
 * Encrypts all entries again.
 * @param tell called with the progress after each page
 */
export async function rekey(
  settings: Settings,
  tell: (orb: string, progress: RekeyProgress) => void,
): Promise<RekeyProgress> {
  const total: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  await withRunningPlatform(settings, "fn", async (deps) => {
    let after: number | undefined;
    do {
      const page = await listOrbs(deps, system, { limit: ORBS_PER_PAGE, after });
      for (const { id } of page.orbs.map(({ document }) => document)) {
        const orb = await definitionFor(deps, id);
        if (orb === null) continue;
        await resealSecrets(deps, id);
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
    const { entries, resealed, failed, conflicts } = await rekey(
      readSettings(process.env),
      (orb, progress) => {
        console.log(`${orb}: ${progress.resealed} of ${progress.entries} entries encrypted again`);
      },
    );
    console.log(`Done: ${resealed} of ${entries} entries were encrypted again with the current keys.`);
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
