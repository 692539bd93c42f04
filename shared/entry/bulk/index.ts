export { type BulkResult, bulkWrite, CHECKED, MATCH_ACTS, type Matching } from "./bulk.ts";
export { type BulkIntoInput, bulkInto, checkInto } from "./bulk-into.ts";
export { changeMany, type ManyChanged, requirePatch } from "./change-many.ts";
