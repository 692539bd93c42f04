/** Losses that this platform has found, until an operator has decided about them: a file in the data folder. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { lineOfDamage } from "../../shared/verify/damage.ts";
import { recordFolder, writePrivate } from "../config/data-dir.ts";
import { makeFolder } from "../config/folders.ts";
import { Failure } from "../process/failure.ts";
import { RecordFile } from "./record-file.ts";

const lossSchema = z.object({
  stream: z.string(),
  from: z.int(),
  to: z.int(),
  says: z.string(),
  /** ISO 8601 time at which the loss was found. */
  at: z.string(),
  /** ISO 8601 time until which the record of the stream was complete. */
  recordedAt: z.string(),
  /** Time when the lost stream was created. A stream of the same name that was created later has no loss. */
  created: z.string().optional(),
  /** Whether an operator has accepted the loss, and the platform must still forget it. */
  accepted: z.boolean().optional(),
  /** Set if the weekly check has found it. The record of the stream is complete, and writes go on. */
  writable: z.literal(true).optional(),
  /** What the weekly check has found. */
  damages: z.array(z.string()).optional(),
});
export type Loss = z.infer<typeof lossSchema>;

const pathIn = (dataDir: string) => join(recordFolder(dataDir), "losses.json");

/** @throws Failure if the file is damaged */
export function readLosses(dataDir: string): Loss[] {
  const path = pathIn(dataDir);
  if (!existsSync(path)) return [];
  try {
    return z.array(lossSchema).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    throw new Failure(`${path} is damaged. Remove it, and run npm run doctor -- --deep.`);
  }
}

export function writeLosses(dataDir: string, losses: readonly Loss[]): void {
  makeFolder(recordFolder(dataDir));
  writePrivate(pathIn(dataDir), JSON.stringify(losses, null, 2));
}

export const lineOfLoss = (loss: Loss) =>
  loss.writable === true
    ? `${lineOfDamage(loss)} The weekly check found it at ${loss.at}. Writes go on.`
    : `${lineOfDamage(loss)} It was complete at ${loss.recordedAt}, and the loss was found at ${loss.at}.`;

/** Returns the command by which an operator says that a loss stays. */
export const acceptCommand = ({ stream }: Loss) => `npm run doctor -- --accept-loss ${stream}`;

/**
 * Notes that an operator keeps a stream as it is after a loss. The platform forgets the loss at its next look.
 * @returns false if no loss of the stream is known here
 */
export function acceptLoss(dataDir: string, stream: string): boolean {
  const losses = readLosses(dataDir);
  const isKnown = losses.some((loss) => loss.stream === stream);
  const all = losses.map((loss) => (loss.stream === stream ? { ...loss, accepted: true } : loss));
  if (isKnown) writeLosses(dataDir, all);
  return isKnown;
}

/**
 * Forgets the loss of a stream, and its record, so that the next record begins with what is there. The record stays if it
 * is complete.
 */
export function removeLoss(dataDir: string, stream: string): void {
  const losses = readLosses(dataDir);
  const isWhole = losses.some((loss) => loss.stream === stream && loss.writable === true);
  if (!isWhole) new RecordFile(dataDir, stream, "[]").remove();
  writeLosses(
    dataDir,
    losses.filter((loss) => loss.stream !== stream),
  );
}
