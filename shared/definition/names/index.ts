export { pinnedNames } from "./earlier.ts";
export { type Conversion, conversionTo, isLossless, isSameShape } from "./forms.ts";
export {
  type Before,
  isSameRule,
  type MadeField,
  madeBefore,
  madeFields,
  madeIn,
  withoutAnyMarks,
  withoutEarlier,
} from "./made.ts";
export { movedInto, moveValues } from "./moved.ts";
export {
  type Location,
  type MovedBetween,
  type MovedField,
  movedBetween,
  movedFields,
  sharedBetween,
} from "./moves.ts";
export { isAlike, objectsOf, type Part, partAt, pick, type Source } from "./parts.ts";
export { madeOfStored, remembered, sourcesOf } from "./remembered.ts";
export { storedNames } from "./resolve.ts";
export { type Root, rootsIn } from "./roots.ts";
export { type ConversionBudget, conversionBudget, shown } from "./ruled.ts";
export { splitItems } from "./split.ts";
export {
  allStored,
  COMPONENTS,
  countForms,
  hasRulesOrMoves,
  MODULES,
  type NamedDocument,
  NameTable,
  OWN_FORM,
  rootOf,
  type StoredNames,
  schemasOf,
  scopeWithin,
  storedHome,
} from "./stored-names.ts";
