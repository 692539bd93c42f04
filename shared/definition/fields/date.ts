import { isDate } from "./calendar.ts";
import { temporalType } from "./temporal.ts";

/** A day `YYYY-MM-DD`, without time zone. */
export const dateType = temporalType({
  name: "date",
  format: "date",
  read: (text) => (isDate(text) ? text : undefined),
  faults: {
    type: "must be a date as a string, such as 2026-03-01",
    format: "must be an existing date, such as 2026-03-01",
  },
});
