/**
 * Comments in this folder use these terms:
 * - Orb: the definition of an application, with the schemas of its entries.
 * - Log: all revisions of an entry, one complete snapshot per message. The last one is the source of truth.
 * - Published copy: a copy of the published revision, on a separate subject for subscribers and fast reads.
 * - Tombstone: a message that marks deleted data.
 * - Index key: a message that makes an entry findable by a value or a reference. Readers check it against the entry.
 * - Guard: a condition of a write. Another subject must not change before the commit.
 * - Fence: messages that each new definition changes. A write fails if they have changed since the write was
 *   validated.
 */

export { type BatchInput, type BatchResult, type BatchWritten, writeBatch } from "./batch/batch.ts";
export { type BatchItem, MOST_ITEMS } from "./batch/items.ts";
export { type BulkResult, bulkWrite, CHECKED, MATCH_ACTS, type Matching } from "./bulk/bulk.ts";
export { type BulkIntoInput, bulkInto } from "./bulk/bulk-into.ts";
export { changeMany, type ManyChanged, requirePatch } from "./bulk/change-many.ts";
export { type EntryKey, ownerOf, readKey } from "./index/by-key.ts";
export { answer, backfillExisting, entryCounts, invalidEntries, moveLive } from "./migrate/publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./migrate/rekey.ts";
export { currentView } from "./model/known.ts";
export { loadEntry } from "./model/resolve.ts";
export { effective, entryView, liveCopyOf, visible } from "./model/snapshot.ts";
export { RECENT, recentChanges } from "./read/recent.ts";
export { revealValues } from "./read/reveal.ts";
export { compareRevisions, getRevision, listRevisions, revisionNumber } from "./read/revisions.ts";
export type { Target, Written } from "./write/change.ts";
export { createEntry, requireOrb } from "./write/create.ts";
export { deleteEntry } from "./write/delete.ts";
export { archiveEntry, publishEntry, restoreEntry, unpublishEntry } from "./write/lifecycle.ts";
export { putEntry, TakenMeanwhile } from "./write/put.ts";
export { revertEntry } from "./write/revert.ts";
export { updateEntry } from "./write/update.ts";
