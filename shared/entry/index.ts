/** The verbs of entries, for transports, scripts and other services. */
export { type BulkInput, type BulkResult, bulkWrite } from "./bulk.ts";
export type { Target, Written } from "./change.ts";
export { equalityToken, indexKind, uniqueTokens } from "./claims.ts";
export { type CreateInput, createEntry, type NewEntry, requireOrb, schemaFor } from "./create.ts";
export { type DeleteInput, deleteEntry } from "./delete.ts";
export type { Idempotency } from "./idempotency.ts";
export { archiveEntry, publishEntry, restoreEntry, unpublishEntry } from "./lifecycle.ts";
export {
  type Claimed,
  claimExisting,
  type Duplicate,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
  moveLive,
} from "./publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./rekey.ts";
export {
  addressOf,
  type LoadedEntry,
  loadEntry,
  type OrbContext,
  schemaOf,
} from "./resolve.ts";
export { revealValues } from "./reveal.ts";
export { revertEntry } from "./revert.ts";
export {
  type Comparison,
  compareRevisions,
  getRevision,
  listRevisions,
  type Revision,
  type RevisionItem,
  revisionNumber,
} from "./revisions.ts";
export {
  type EntrySnapshot,
  type EntryView,
  effective,
  entryView,
  type LiveCopy,
  liveCopyOf,
  snapshotOf,
  visible,
} from "./snapshot.ts";
export { type UpdateInput, updateEntry } from "./update.ts";
