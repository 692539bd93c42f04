export { warnOfShared } from "./backfill.ts";
export { backfillForms, type SharedForm } from "./backfill-forms.ts";
export { Join } from "./join.ts";
export { backfillExisting, type Duplicate, KeptKeys, NeededKeys, sharedValues } from "./needed-keys.ts";
export {
  answer,
  cancelScheduled,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
  type LossyEntries,
  lossyEntries,
  moveLive,
  type Question,
  valuesStored,
} from "./publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./rekey.ts";
export { eraseMade, examineSplit, Split } from "./split.ts";
export type { StepOf } from "./steps.ts";
