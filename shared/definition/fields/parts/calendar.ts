/** Validates dates strictly. `Date.parse` would turn 30 February into 2 March. */

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
/**
 * RFC 3339, and what other writers of ISO 8601 use if it has only one meaning: no seconds, a comma before the fraction,
 * a space before the time, and an offset without colon or minutes.
 */
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,20}))?)?(?:[Zz]|([+-])(\d{2})(?::?(\d{2}))?)$/;

export function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= days;
}

/** Converts a date and time with an offset to UTC with milliseconds, or returns undefined if it is invalid. */
export function normaliseInstant(text: string): string | undefined {
  const parts = INSTANT.exec(text);
  if (parts === null) return undefined;
  const [
    ,
    day = "",
    hour = "",
    minute = "",
    second = "00",
    fraction = "",
    sign,
    offsetHour = "0",
    offsetMinute = "0",
  ] = parts;
  if (!isDate(day) || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const milliseconds = fraction.padEnd(3, "0").slice(0, 3);
  const local = Date.parse(`${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000 * (sign === "-" ? -1 : 1);
  const instant = new Date(local - offset);
  const year = instant.getUTCFullYear();
  return year >= 1 && year <= 9999 ? instant.toISOString() : undefined;
}
