/** What an import may say about an entry that came from elsewhere, although the platform otherwise sets it. */
import { STATUSES, type Status } from "../../definition/document/index.ts";
import { normaliseInstant } from "../../definition/fields/parts/index.ts";
import type { Fault } from "../../kernel/errors.ts";
import { joinNames, MOMENT_FORM } from "../../kernel/faults.ts";

export interface Origin {
  /** ISO 8601 in UTC with milliseconds. */
  createdAt?: string | undefined;
  /** Id of an account, or any other name of the author. */
  createdBy?: string | undefined;
  status?: Status | undefined;
}

/** Names of the members of a line that say where its entry came from. */
export const ORIGIN = ["createdAt", "createdBy", "status"] as const;

const AUTHOR_LENGTH = 200;

/**
 * Returns what a line says about the origin of its entry; undefined if it says nothing.
 * @param now milliseconds since the epoch
 * @param faults takes the faults of the members
 */
export function readOrigin(
  line: Readonly<Record<string, unknown>>,
  now: number,
  faults: Fault[],
): Origin | undefined {
  if (!ORIGIN.some((name) => Object.hasOwn(line, name))) return undefined;
  return {
    createdAt: readTime(line.createdAt, now, faults),
    createdBy: readAuthor(line.createdBy, faults),
    status: readStatus(line.status, faults),
  };
}

function readTime(value: unknown, now: number, faults: Fault[]): string | undefined {
  if (value === undefined) return undefined;
  const path = "/createdAt";
  const time = typeof value === "string" ? normaliseInstant(value) : undefined;
  if (time === undefined)
    faults.push({ path, code: typeof value === "string" ? "format" : "type", message: MOMENT_FORM });
  else if (Date.parse(time) > now)
    faults.push({ path, code: "too_big", message: `must not be in the future (is ${time})` });
  return time;
}

function readAuthor(value: unknown, faults: Fault[]): string | undefined {
  if (value === undefined) return undefined;
  const path = "/createdBy";
  if (typeof value !== "string") faults.push({ path, code: "type", message: "must be a string" });
  else if (value.length === 0 || value.length > AUTHOR_LENGTH) {
    const code = value.length === 0 ? "too_short" : "too_long";
    const message = `must be 1 to ${AUTHOR_LENGTH} characters long (is ${value.length})`;
    faults.push({ path, code, message });
  } else return value;
  return undefined;
}

function readStatus(value: unknown, faults: Fault[]): Status | undefined {
  if (value === undefined) return undefined;
  const status = STATUSES.find((one) => one === value);
  if (status === undefined)
    faults.push({ path: "/status", code: "enum", message: `must be ${joinNames(STATUSES)}` });
  return status;
}

/** Returns whether an entry has the given time and author of its creation. */
export function hasOrigin(
  entry: { createdAt: string; createdBy: string },
  { createdAt = entry.createdAt, createdBy = entry.createdBy }: Origin,
): boolean {
  return entry.createdAt === createdAt && entry.createdBy === createdBy;
}
