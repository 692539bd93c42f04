/**
 * Entries: content of a schema. This folder is organised by step:
 *
 * - `model/`: the stored form of an entry, its index keys, sealed values, cursors, idempotency
 * - `write/`: create, update, publish, delete … (`change.ts` explains the invariants of every write)
 * - `index/`: lookups by index key, references, visibility, validity windows
 * - `query/`: filters, sort orders, pages
 * - `read/`: responses of the runtime API and the management API
 * - `migrate/`: backfills after a definition, a key or a stored form has changed
 */
export { backfillExisting, entryCounts, invalidEntries, moveLive } from "./migrate/publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./migrate/rekey.ts";
export { currentView } from "./model/known.ts";
export { loadEntry } from "./model/resolve.ts";
export { effective, entryView, liveCopyOf, visible } from "./model/snapshot.ts";
export { revealValues } from "./read/reveal.ts";
export { compareRevisions, getRevision, listRevisions, revisionNumber } from "./read/revisions.ts";
export { type BulkResult, bulkWrite } from "./write/bulk.ts";
export type { Target, Written } from "./write/change.ts";
export { createEntry, requireOrb } from "./write/create.ts";
export { deleteEntry } from "./write/delete.ts";
export { archiveEntry, publishEntry, restoreEntry, unpublishEntry } from "./write/lifecycle.ts";
export { revertEntry } from "./write/revert.ts";
export { updateEntry } from "./write/update.ts";
