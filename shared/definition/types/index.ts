export {
  addressFlaw,
  BLOCK,
  DEFAULT_FORMATS,
  entryPath,
  LINK,
  MAX_LEVEL,
  RESERVED_TYPES,
  SPAN,
} from "./rich-text.ts";
export { isTitleName, titleAmong } from "./title.ts";
export {
  AREAS,
  FIELD_TRAITS,
  FIELD_TYPE_NAMES,
  type FieldTraits,
  type FieldTypeName,
  type FilterOperator,
  isFieldType,
  takesRule,
  traitsOf,
} from "./traits.ts";
