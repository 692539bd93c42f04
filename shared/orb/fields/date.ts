import { isDate } from "./calendar.ts";
import { temporalType } from "./temporal.ts";

/** A day without a time or a zone, `YYYY-MM-DD`. */
export const dateType = temporalType({
  name: "date",
  format: "date",
  read: (text) => (isDate(text) ? text : undefined),
  faults: {
    type: "This must be a date as a string, YYYY-MM-DD.",
    format: "This must be a date that exists, YYYY-MM-DD.",
  },
});
