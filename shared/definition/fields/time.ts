import { temporalType } from "./parts/index.ts";

const TIME = /^((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?$/;

/**
 * A time of day `HH:MM` or `HH:MM:SS`, without date and time zone. Full minutes are stored without seconds, so that
 * equal times have equal texts and the order of the texts is the order of the times.
 */
export const timeType = temporalType({
  name: "time",
  // The format `time` of JSON Schema demands seconds and an offset.
  form: { pattern: "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$" },
  read(text) {
    const [, minutes, seconds] = TIME.exec(text) ?? [];
    return seconds === undefined || seconds === ":00" ? minutes : `${minutes}${seconds}`;
  },
  faults: {
    type: "must be a time of day as a string, such as 09:30",
    format: "must be a time of day from 00:00 to 23:59:59, such as 09:30 or 09:30:15",
  },
});
