export { isDate, normaliseInstant } from "./calendar.ts";
export { characterRules, characterSchema, characters, parseCharacters } from "./characters.ts";
export { fromTexts, ifValid, numberOfText, textsOf, unchanged } from "./conversion.ts";
export {
  type Area,
  areaIn,
  type Circle,
  circleIn,
  distance,
  indexText,
  isLatitude,
  isLongitude,
  type Point,
  pointIn,
  pointInText,
  rangesOf,
  readBox,
  readNear,
  ring,
} from "./geo.ts";
export { numberFromText, numericRules, numericSchema, numericToken, parseNumber } from "./numeric.ts";
export { fromParagraphs, MAX_ITEMS, searchedText, toParagraphs } from "./paragraphs.ts";
export { compilePattern, MAX_MATCHED, PATTERN_LIMIT } from "./pattern.ts";
export { temporalType } from "./temporal.ts";
export {
  comparedAs,
  compareScalars,
  compareTexts,
  type FieldType,
  type Json,
  type JsonSchema,
  listOperators,
  type Rule,
  textEquality,
} from "./type.ts";
export { isBlankForm, uniqueForm } from "./unique-form.ts";
