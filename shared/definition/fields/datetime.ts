import { MOMENT_FORM } from "../../kernel/faults.ts";
import { normaliseInstant } from "./calendar.ts";
import { temporalType } from "./temporal.ts";

/** An RFC 3339 date-time, stored in UTC with milliseconds. */
export const datetimeType = temporalType({
  name: "datetime",
  format: "date-time",
  read: normaliseInstant,
  faults: {
    type: "must be a date and time as a string, such as 2026-03-01T10:00:00Z",
    format: MOMENT_FORM,
  },
});
