export { readMoment } from "./at.ts";
export { compareFound, NEWEST_COMPARED, ranked, readFound } from "./found.ts";
export { getEntry, presentWritten } from "./get.ts";
export { type ListInput, lastOf, listEntries, listVisible } from "./list.ts";
export { listManaged } from "./managed.ts";
export { getManaged, schemaOfEntry } from "./managed-get.ts";
export { ownRevision, undoes } from "./own-revision.ts";
export { Reading } from "./reading.ts";
export { revealValues } from "./reveal.ts";
export {
  compareRevisions,
  getRevision,
  listRevisions,
  revisionNumber,
  revisionPlace,
  revisionSnapshot,
} from "./revisions.ts";
export { SEARCH_LIMITS, searchManaged, searchVisible } from "./search.ts";
export { readTogether } from "./together.ts";
