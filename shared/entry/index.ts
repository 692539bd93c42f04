/**
 * The verbs on entries. Comments in this folder use these terms:
 * - Log: all revisions of an entry, one message each. Every message is a complete snapshot.
 * - Head: the last message of the log, which is the newest revision and the source of truth. Readers verify all other
 *   data against it.
 * - Published copy: a copy of the published revision, on a separate subject for subscribers and fast reads.
 * - Tombstone: a message that marks deleted data.
 * - Index key: a message that makes an entry findable by a value or a reference. It may be outdated, so readers verify
 *   it.
 * - Reservation: the index key of a unique value. It belongs to one entry and is taken by compare-and-set.
 * - Guard: a condition that another subject must not change before the commit.
 * - Fence: subjects that a new definition of the orb changes. Every write expects them unchanged, so no write commits
 *   under an outdated definition.
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
