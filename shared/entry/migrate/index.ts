export { warnOfShared } from "./backfill.ts";
export { backfillForms, type SharedForm } from "./backfill-forms.ts";
export { Join } from "./join.ts";
export {
  answer,
  backfillExisting,
  cancelScheduled,
  type Duplicate,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
  type LossyEntries,
  lossyEntries,
  moveLive,
  type Question,
  sharedValues,
  valuesStored,
} from "./publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./rekey.ts";
export { examineSplit, Split } from "./split.ts";
export type { StepOf } from "./steps.ts";
