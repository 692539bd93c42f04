import { isDate, temporalType } from "./parts/index.ts";

/** A day `YYYY-MM-DD`, without time zone. */
export const dateType = temporalType({
  name: "date",
  form: { format: "date" },
  read: (text) => (isDate(text) ? text : undefined),
  madeFrom: {
    datetime: { always: false, convert: (moment) => String(moment).slice(0, "2026-03-01".length) },
  },
  faults: {
    type: "must be a date as a string, such as 2026-03-01",
    format: "must be an existing date, such as 2026-03-01",
  },
});
