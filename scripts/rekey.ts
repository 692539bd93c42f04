/**
 * `npm run rekey`: after ENCRYPTION_KEYS or CLAIM_KEY were changed, seals and claims the newest revision of every entry again.
 * Runs beside a platform that is up; running it again does no harm.
 */
import { system } from "../shared/access/actor.ts";
import { definitionFor } from "../shared/definition/stored/live.ts";
import { type RekeyProgress, rekeyEntries } from "../shared/entry/index.ts";
import { listOrbs } from "../shared/orb/read.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith } from "./process/failure.ts";

const PAGE = 200;

/** Reseals every orb's entries. @param tell hears of each page of progress */
export async function rekey(
  settings: Settings,
  tell: (orb: string, progress: RekeyProgress) => void,
): Promise<RekeyProgress> {
  const total: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  await withRunningPlatform(settings, "fn", async (deps) => {
    let after: number | undefined;
    do {
      const page = await listOrbs(deps, system, { limit: PAGE, after });
      for (const { id } of page.orbs.map(({ document }) => document)) {
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
    const { entries, resealed, failed, conflicts } = await rekey(
      readSettings(process.env),
      (orb, progress) => {
        console.log(`${orb}: ${progress.resealed} resealed of ${progress.entries} entries looked at`);
      },
    );
    console.log(
      `Done: ${resealed} of ${entries} entries have been sealed and claimed under the keys of today.`,
    );
    if (failed.length > 0) {
      console.log(`No configured key opens ${failed.length} of them: ${failed.slice(0, 20).join(", ")}`);
      process.exitCode = 1;
    }
    if (conflicts.length > 0) {
      console.log(
        `Another entry holds a unique value of ${conflicts.length}, in this form or another: ${conflicts.slice(0, 20).join(", ")}`,
      );
      process.exitCode = 1;
    }
  } catch (error) {
    exitWith(error);
  }
}
