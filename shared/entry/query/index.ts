export { AGGREGATE_LIMITS, AGGREGATES, isGroupable, takesAggregate } from "./aggregate.ts";
export { countByIndex, MAX_INDEXED_VALUES, READ_LIMIT, Tally } from "./candidates.ts";
export { hiddenPosition, type ListPage, positionIn } from "./cut.ts";
export {
  compareRanked,
  matches,
  rankOf,
  type SortPosition,
  type SortValue,
  sortValues,
  type Work,
} from "./filter.ts";
export { FILTER_LIMITS } from "./groups.ts";
export { wholePage } from "./list-scan.ts";
export { type Collection, type Places, readAll } from "./matching.ts";
export { readListPage } from "./page.ts";
export {
  BY_CREATION,
  isCondition,
  isGroup,
  PROPERTIES,
  PROPERTY_TYPES,
  QUERY_LIMITS,
  type Search,
  type SortKey,
  type Subject,
  searchOf,
  type Where,
} from "./parameters.ts";
export {
  creationOrder,
  LIST_PARAMETERS,
  type ListQuery,
  type OneQuery,
  PAGE_SIZE,
  parseExtras,
  parseListQuery,
  parseOneQuery,
} from "./query.ts";
export { fieldRange, type OrderedContext, openTended, orderedIndexOf } from "./ranges.ts";
export { rankedPlan } from "./ranked.ts";
export { relatedIn, Targets } from "./related.ts";
