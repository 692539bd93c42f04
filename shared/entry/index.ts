/**
 * Entries: content of a schema.
 *
 * Concepts:
 * - Log: one message per revision of an entry. Each message is a whole snapshot.
 * - Head: the last message of the log. The head is the truth; everything else is derived from it or verified against
 *   it.
 * - Live copy: a copy of the live revision on a subject of its own, for subscribers and fast reads.
 * - Tombstone: the message that replaces a live copy when the entry is no longer live, or a log when it is purged.
 * - Index key: a message that makes an entry findable by a value or a reference. It is a hint that readers verify.
 * - Reservation: the index key of a unique value. It has one owner and is taken by compare-and-set.
 * - Guard: an expectation that another subject has not changed until the commit.
 * - Fence: the subject that each write expects and that activating a definition moves, so that no write is committed
 *   under an outdated definition.
 * - Window: `validFrom` to `validTo`. The broker's scheduler opens and closes it.
 *
 * Folders:
 * - `model/`: the stored form of an entry, its index keys, sealed values, cursors, idempotency
 * - `write/`: create, update, publish, delete … (`change.ts` lists the invariants of every write)
 * - `index/`: lookups by index key, references, visibility, windows
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
