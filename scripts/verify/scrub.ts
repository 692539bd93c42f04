/**
 * Checks all stored data once a week. Keeps what it finds as losses, until an operator decides about them. Writes go on,
 * because the revisions of entries are compared with the record, and those that are lost stop writes.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { forgetLoss } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { pause } from "../../shared/kernel/pause.ts";
import type { Damage } from "../../shared/verify/damage.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { unfinishedRestore } from "../backup/swap.ts";
import { recordFolder, writePrivate } from "../config/data-dir.ts";
import { makeFolder } from "../config/folders.ts";
import { acceptCommand, type Loss, lineOfLoss, readLosses, removeLoss, writeLosses } from "./losses.ts";

/** Milliseconds between two checks of all data, also across starts of the process. */
export const SCRUB_MS = 7 * 86_400_000;
/** A change that is being written may look like damage. What is still there after this many milliseconds is damage. */
const CONFIRM_MS = 3_000;

const stateSchema = z.object({
  /** ISO 8601 time of the last check, or of the first start. */
  at: z.string(),
  /** For each stream, the damages that an operator has accepted. */
  accepted: z.record(z.string(), z.array(z.string())),
});
type State = z.infer<typeof stateSchema>;

/** Name of the file with the state, in the folder of the records. */
export const SCRUB_FILE = "scrub.json";

function readState(dataDir: string): State | undefined {
  const path = join(recordFolder(dataDir), SCRUB_FILE);
  if (!existsSync(path)) return undefined;
  try {
    return stateSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Without the state, the next check comes early and reports accepted damages again.
    return undefined;
  }
}

function writeState(dataDir: string, state: State): void {
  makeFolder(recordFolder(dataDir));
  writePrivate(join(recordFolder(dataDir), SCRUB_FILE), JSON.stringify(state, null, 2));
}

/** Identifies a damage. Numbers are left out, because sequence numbers and counts move while writes go on. */
const keyOf = ({ says }: Damage) => says.replace(/\b\d+\b/g, "#");

/** Forgets what an operator has accepted. Later checks do not report it again. */
export function acceptDamages(dataDir: string, { stream, damages = [] }: Loss): void {
  const state = readState(dataDir) ?? { at: new Date().toISOString(), accepted: {} };
  const all = new Set([...(state.accepted[stream] ?? []), ...damages]);
  writeState(dataDir, { ...state, accepted: { ...state.accepted, [stream]: [...all] } });
}

/** Returns what a check has found in one stream as a loss. */
async function lossOf(deps: Deps, stream: string, damages: readonly Damage[]): Promise<Loss> {
  const info = await deps.store.streamInfo(stream);
  const at = new Date().toISOString();
  const ends = damages.flatMap(({ from = 1, to = info?.state.last_seq ?? from }) => [from, to]);
  const [first] = damages;
  const more = damages.length === 1 ? "" : ` And ${damages.length - 1} more: npm run doctor -- --deep`;
  return {
    stream,
    from: Math.min(...ends),
    to: Math.max(...ends),
    says: `${first?.says ?? ""}${more}`,
    at,
    recordedAt: at,
    created: info?.created,
    writable: true,
    damages: damages.map(keyOf),
  };
}

export class Scrub {
  readonly #deps: Deps;
  readonly #dataDir: string;
  readonly #say: (line: string) => void;

  /** @param deps with a store that has the rights of the operator */
  constructor(deps: Deps, { dataDir, say }: { dataDir: string; say: (line: string) => void }) {
    this.#deps = deps;
    this.#dataDir = dataDir;
    this.#say = say;
  }

  /** Checks all data if the last check is a week ago. */
  async runIfDue(now = Date.now()): Promise<void> {
    const state = readState(this.#dataDir);
    if (state === undefined) writeState(this.#dataDir, { at: new Date(now).toISOString(), accepted: {} });
    else if (now - Date.parse(state.at) >= SCRUB_MS) await this.run();
  }

  /** Checks all data. Adds what it finds to the losses, and removes from them what is no longer found. */
  async run(): Promise<void> {
    if (unfinishedRestore(this.#dataDir) !== undefined) return;
    const first = await this.#damages();
    if (first.size > 0) await pause(CONFIRM_MS);
    const found = first.size === 0 ? first : await this.#damages();
    if (unfinishedRestore(this.#dataDir) !== undefined) return;
    for (const [stream, damages] of found) {
      const before = new Set(first.get(stream)?.map(keyOf));
      const still = damages.filter((damage) => before.has(keyOf(damage)));
      const known = readLosses(this.#dataDir).some((loss) => loss.stream === stream);
      if (still.length > 0 && !known) this.#report(await lossOf(this.#deps, stream, still));
    }
    for (const loss of readLosses(this.#dataDir)) {
      if (loss.writable !== true || found.has(loss.stream)) continue;
      await forgetLoss(this.#deps, loss.stream);
      removeLoss(this.#dataDir, loss.stream);
    }
    const accepted = readState(this.#dataDir)?.accepted ?? {};
    writeState(this.#dataDir, { at: new Date().toISOString(), accepted });
  }

  /** Returns the damages of each stream, without those that an operator has accepted. */
  async #damages(): Promise<Map<string, Damage[]>> {
    const accepted = readState(this.#dataDir)?.accepted ?? {};
    const found = new Map<string, Damage[]>();
    await verifyAll(this.#deps, (_what, damages) => {
      for (const damage of damages) {
        const { stream } = damage;
        if (accepted[stream]?.includes(keyOf(damage)) === true) continue;
        found.set(stream, [...(found.get(stream) ?? []), damage]);
      }
    });
    return found;
  }

  #report(loss: Loss): void {
    writeLosses(this.#dataDir, [...readLosses(this.#dataDir), loss]);
    this.#say(
      `DATA DAMAGE: ${lineOfLoss(loss)} Restore a backup, or keep what is there with: ${acceptCommand(loss)}`,
    );
  }
}
