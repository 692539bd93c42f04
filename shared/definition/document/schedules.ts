/** Schedules of an application: handlers that the platform calls at certain times. */
import { z } from "zod";
import { HANDLER_NAME, MODULE_ID } from "./ids.ts";

export const SCHEDULE_LIMITS = { schedules: 20 } as const;

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** Time zone of a schedule that names none. */
export const CRON_DEFAULT_ZONE = "UTC";

/** The six fields of a cron expression. Days of the week go from 0 (Sunday) to 6. */
const FIELDS = [
  { name: "second", min: 0, max: 59, names: [] },
  { name: "minute", min: 0, max: 59, names: [] },
  { name: "hour", min: 0, max: 23, names: [] },
  { name: "day of the month", min: 1, max: 31, names: [] },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: 6, names: DAYS },
] as const;
type Field = (typeof FIELDS)[number];

const EXAMPLE = '"0 30 9 * * MON-FRI" is 9:30 on working days.';
const PART = /^(?:([*?])|([0-9a-z]{1,3})(?:-([0-9a-z]{1,3}))?)(?:\/(\d{1,2}))?$/i;
/** Maximum days of each month. An expression that names only days such as February 30 would never be due. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns the problem with a cron expression; undefined if the expression is valid. */
export function cronFault(text: string): string | undefined {
  const parts = text.split(" ");
  if (parts.length !== FIELDS.length) {
    return `must have six fields with one blank between them: second, minute, hour, day of the month, month, day of the week. ${EXAMPLE}`;
  }
  const values = FIELDS.map((field, index) => valuesOf(parts[index] ?? "", field));
  const wrong = FIELDS.find((_, index) => values[index] === undefined);
  if (wrong !== undefined) {
    const { name, min, max, names } = wrong;
    const words = names.length === 0 ? "" : `, or ${names[0]} to ${names.at(-1)}`;
    return `has no valid ${name}: use *, a number from ${min} to ${max}${words}, a range such as 1-5, a step such as */5, or a list of these. ${EXAMPLE}`;
  }
  const [, , , days = [], months = [], weekdays = []] = values;
  // If an expression restricts both the day of the month and the day of the week, a day needs to match only one of
  // them.
  const either = !isStar(parts[3]) && !isStar(parts[5]) && weekdays.length > 0;
  const occurs = months.some((month) => days.some((day) => day <= (LENGTHS[month - 1] ?? 0)));
  return occurs || either ? undefined : `names a day that none of its months has. ${EXAMPLE}`;
}

function isStar(part: string | undefined): boolean {
  return part?.split(",").some((one) => /^[*?](\/0?1)?$/.test(one)) === true;
}

function valuesOf(text: string, field: Field): number[] | undefined {
  const found: number[] = [];
  for (const part of text.split(",")) {
    const match = PART.exec(part);
    if (match === null) return undefined;
    const [, star, from = "", to, step = "1"] = match;
    const low = star === undefined ? numberOf(from, field) : field.min;
    const rest = star !== undefined || (match[4] !== undefined && to === undefined);
    const high = rest ? field.max : numberOf(to ?? from, field);
    if (low === undefined || high === undefined || low > high || Number(step) === 0) return undefined;
    for (let value = low; value <= high; value += Number(step)) found.push(value);
  }
  return found;
}

/**
 * Returns a valid expression in the form that other programs read: numbers in place of names, `*` in place of `?` and of
 * lists that contain `*`, and both ends of each range with a step.
 */
export function plainCron(text: string): string {
  const parts = text.split(" ");
  return FIELDS.map((field, index) => plainField(parts[index] ?? "*", field)).join(" ");
}

function plainField(text: string, field: Field): string {
  if (isStar(text)) return "*";
  const size = field.max - field.min + 1;
  const plain = text.split(",").map((part) => {
    const [, star, from = "", to, step] = PART.exec(part) ?? [];
    // A step that is longer than the field has the same effect as one of its length.
    const every = step === undefined ? "" : `/${Math.min(Number(step), size)}`;
    if (star !== undefined) return `*${every}`;
    const [low, high] = [numberOf(from, field), to === undefined ? undefined : numberOf(to, field)];
    if (step === undefined) return high === undefined ? `${low}` : `${low}-${high}`;
    return `${low}-${high ?? field.max}${every}`;
  });
  return plain.join(",");
}

function numberOf(text: string, { min, max, names }: Field): number | undefined {
  const name = (names as readonly string[]).indexOf(text.toLowerCase());
  const value = name >= 0 ? name + min : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

/**
 * Matches names of time zones in their usual form. Abbreviations, offsets and other spellings are rejected, because
 * their meaning differs between systems.
 */
const ZONE = /^(?:UTC|[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_+-]+){1,2})$/;

function isTimeZone(text: string): boolean {
  if (!ZONE.test(text)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

export const scheduleSchema = z
  .strictObject({
    id: z
      .string()
      .regex(MODULE_ID, "must be 1 to 63 lower-case letters, digits or hyphens and begin with a letter")
      .meta({ description: "Name of the schedule, unique among schedules and hooks.", example: "nightly" }),
    cron: z
      .string()
      .max(200)
      .superRefine((text, context) => {
        const message = cronFault(text);
        if (message !== undefined) context.addIssue({ code: "custom", message, params: { code: "format" } });
      })
      .meta({
        description:
          "When the handler is called: second, minute, hour, day of the month, month, day of the week.",
        example: "0 30 9 * * MON-FRI",
      }),
    timeZone: z
      .string()
      .max(64)
      .refine(isTimeZone, {
        error: "must be UTC or the name of a time zone such as Europe/Berlin",
        params: { code: "format" },
      })
      .optional()
      .meta({ description: "Time zone of `cron`. Default: UTC.", example: "Europe/Berlin" }),
    handler: z.string().regex(HANDLER_NAME, "must have the form <service>.<handler>").meta({
      description: "A handler in `uses`: <service>.<handler>.",
      example: "reports.send",
    }),
    input: z.unknown().optional().meta({ description: "Input of the handler. Default: null." }),
  })
  .meta({ id: "OrbSchedule", description: "A handler that the platform calls at certain times." });

export type ScheduleDefinition = z.output<typeof scheduleSchema>;
