/** Reads all stored data, and reports what is missing or damaged. */
import { existsSync } from "node:fs";
import { knownLosses } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { lossRemedy } from "../../shared/discovery/losses.ts";
import type { Store } from "../../shared/store/types.ts";
import { lineOfDamage, RESTORE_ADVICE } from "../../shared/verify/damage.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { recordFolder } from "../config/data-dir.ts";
import { acceptCommand, lineOfLoss, readLosses } from "../verify/losses.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Damages of one stream that are printed. */
const SHOWN = 20;

/** Returns a finding for each damage, at most {@link SHOWN} for each stream, or one that says that all is well. */
export async function checkData(deps: Deps): Promise<Finding[]> {
  const findings: Finding[] = [];
  let streams = 0;
  await verifyAll(deps, (what, damages, total) => {
    streams++;
    for (const damage of damages.slice(0, SHOWN)) {
      findings.push(fail("data", lineOfDamage(damage), RESTORE_ADVICE));
    }
    if (total > SHOWN) {
      findings.push(fail("data", `${what}: ${total - SHOWN} more damages.`, RESTORE_ADVICE));
    }
  });
  return findings.length > 0
    ? findings
    : [
        ok(
          "data",
          `All messages of ${streams} streams and applications can be read and agree with each other.`,
        ),
      ];
}

/**
 * Reports the losses that this platform has found, until an operator decides about them.
 * @param isExternal whether the brokers were started by other means, so that the data folder may have no record of them
 */
export function checkRecord(dataDir: string, isExternal: boolean): Finding[] {
  if (isExternal && !existsSync(recordFolder(dataDir))) {
    return [
      warn(
        "record",
        `There is no record of the brokers' streams in ${dataDir}, so data that they lose may not be noticed.`,
        "Set DATA_DIR to the folder of the host or the hooks process that keeps the record, or run one there.",
      ),
    ];
  }
  return readLosses(dataDir).map((loss) =>
    loss.accepted === true
      ? warn("record", lineOfLoss(loss), "The loss was accepted. Start the platform, which forgets it.")
      : fail("record", lineOfLoss(loss), `${RESTORE_ADVICE} Or keep what is there: ${acceptCommand(loss)}`),
  );
}

/** Reports the losses that the platform on another machine has found. */
export async function checkKnownLosses(store: Store, dataDir: string): Promise<Finding[]> {
  const own = new Set(readLosses(dataDir).map(({ stream }) => stream));
  const others = (await knownLosses({ store })).filter(({ stream }) => !own.has(stream));
  return others.map((loss) =>
    fail("record", `${lineOfDamage(loss)} The loss was found at ${loss.at}.`, lossRemedy(loss)),
  );
}
