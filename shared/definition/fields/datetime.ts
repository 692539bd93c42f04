import { MOMENT_FORM } from "../../kernel/faults.ts";
import { normaliseInstant, temporalType } from "./parts/index.ts";

/** A date and time with an offset, stored in UTC with milliseconds. */
export const datetimeType = temporalType({
  name: "datetime",
  form: { format: "date-time" },
  read: normaliseInstant,
  madeFrom: { date: { always: true, convert: (day) => `${String(day)}T00:00:00.000Z` } },
  faults: {
    type: "must be a date and time as a string, such as 2026-03-01T10:00:00Z",
    format: MOMENT_FORM,
  },
});
