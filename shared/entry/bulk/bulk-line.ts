/** Reads the lines of a bulk upload: JSON objects that each describe a new entry. */
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { ORIGIN, readOrigin } from "../model/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";
import type { NewEntry } from "../write/index.ts";

/** What a line may leave out, because the request says it for all lines. */
export interface LineDefaults {
  module?: string | undefined;
  schema?: string | undefined;
  publish?: boolean | undefined;
}

export interface BulkLine {
  entry: NewEntry;
  /** The line's own idempotency key, which makes it independent of its position in the upload. */
  key: string | undefined;
}

const TEXTS = ["module", "schema", "locale", "market", "idempotencyKey"] as const;
const MEMBERS = new Set<string>([...TEXTS, ...ORIGIN, "values", "validFrom", "validTo", "publish"]);
/** Maximum characters of an idempotency key, as in the header. */
const KEY_LENGTH = 255;

/**
 * @param now milliseconds since the epoch
 * @throws AppError invalid with the faults of the line's own members; values are checked later
 */
export function readLine(value: unknown, defaults: LineDefaults, now: number): BulkLine {
  if (!isObject(value)) {
    const errors = [{ path: "", code: "type", message: "must be an object" }];
    throw invalid(errors, "Each line must be an object with module and values.");
  }
  const faults: Fault[] = Object.keys(value)
    .filter((name) => !MEMBERS.has(name))
    .map((name) => ({
      path: `/${name.slice(0, 64)}`,
      code: "unknown_property",
      message: "is not a known property. Remove it or correct its name.",
    }));
  const text = (name: (typeof TEXTS)[number], otherwise?: string): string | undefined => {
    const given = value[name] ?? (Object.hasOwn(value, name) ? null : otherwise);
    if (typeof given === "string") return given;
    if (given !== undefined || name === "module") {
      const code = given === undefined ? "required" : "type";
      faults.push({ path: `/${name}`, code, message: "must be a string" });
    }
    return undefined;
  };
  const module = text("module", defaults.module);
  // The default schema belongs to the default module.
  const schema = text("schema", module === defaults.module ? defaults.schema : undefined);
  const [locale, market, key] = [text("locale"), text("market"), text("idempotencyKey")];
  if (key !== undefined && (key.length === 0 || key.length > KEY_LENGTH)) {
    const message = `must be 1 to ${KEY_LENGTH} characters long (is ${key.length})`;
    faults.push({ path: "/idempotencyKey", code: key.length === 0 ? "too_short" : "too_long", message });
  }
  const origin = readOrigin(value, now, faults);
  if (origin?.status !== undefined && value.publish !== undefined) {
    const message =
      "must not be sent together with status, which says whether to publish. Remove one of them.";
    faults.push({ path: "/publish", code: "not_applicable", message });
  }
  const isLive = origin?.status === undefined ? defaults.publish === true : origin.status === "PUBLISHED";
  const publish = value.publish ?? isLive;
  if (typeof publish !== "boolean") {
    faults.push({ path: "/publish", code: "type", message: "must be a boolean" });
  }
  if (faults.length > 0) {
    throw invalid(faults, "The line is not valid. Correct the properties listed in errors.");
  }
  const { values, validFrom, validTo } = value;
  const wanted = {
    ...{ publish: publish === true, locale, market },
    ...(origin === undefined ? {} : { origin }),
  };
  return { entry: { module: module ?? "", schema, values, validFrom, validTo, ...wanted }, key };
}

/** Returns the warnings of a write with the names that its line has. */
export const warningsFor = (
  pinned: PinnedRequest | undefined,
  warnings: readonly Fault[] = [],
): readonly Fault[] => pinned?.faults(warnings) ?? warnings;

/** The error with which an upload ends at its first refused line. */
export function stoppedAt(line: number): AppError {
  const detail = `Line ${line} was refused, so the upload stopped: no line after it was written. Correct it, and send it and the lines after it again.`;
  return new AppError("invalid", "line_refused", detail);
}

/** The error with which an upload ends that checks its lines first, and refuses some. */
export function nothingWritten(count: number): AppError {
  const detail = `${count === 1 ? "A line was" : `${count} lines were`} refused, so nothing was written. Correct them, and send all lines again.`;
  return new AppError("invalid", "lines_refused", detail);
}
