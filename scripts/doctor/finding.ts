/** Severity of a finding. After a `fail`, the command exits with code 1. */
export type Level = "ok" | "warn" | "fail";

/** The result of one check. */
export interface Finding {
  level: Level;
  /** Name of the check, such as `clock`. */
  about: string;
  /** The result in one sentence, which contains no secret. */
  says: string;
  /** Advice for the operator. Omitted if there is nothing to do. */
  remedy?: string;
}

export function ok(about: string, says: string): Finding {
  return { level: "ok", about, says };
}

export function warn(about: string, says: string, remedy: string): Finding {
  return { level: "warn", about, says, remedy };
}

export function fail(about: string, says: string, remedy: string): Finding {
  return { level: "fail", about, says, remedy };
}

/** Formats one finding, such as `FAIL  clock  …`, with the advice on the next line. */
export function lineOf({ level, about, says, remedy }: Finding): string {
  const mark = { ok: "ok  ", warn: "WARN", fail: "FAIL" }[level];
  const line = `${mark}  ${about.padEnd(9)} ${says}`;
  return remedy === undefined ? line : `${line}\n                → ${remedy}`;
}

/** Advice for a broker whose disk is full or fails. */
export const MEND_DISK =
  'Free or replace the broker\'s disk, then restart the broker, as docs/guides/cluster.md says under "When a broker stores no data". The platform restarts its own broker.';

/** Returns the message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Formats a number of bytes, such as `1.5 GiB`. */
export function sizeOf(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
