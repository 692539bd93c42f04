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

export {
  type BatchInput,
  type BatchItem,
  type BatchResult,
  type BatchWritten,
  MOST_ITEMS,
  writeBatch,
} from "./batch/index.ts";
export {
  type BulkIntoInput,
  type BulkResult,
  bulkInto,
  bulkWrite,
  CHECKED,
  changeMany,
  checkInto,
  MATCH_ACTS,
  type ManyChanged,
  type Matching,
  requirePatch,
} from "./bulk/index.ts";
export { type EntryKey, ownerOf, readKey } from "./index/index.ts";
export {
  answer,
  backfillExisting,
  entryCounts,
  invalidEntries,
  moveLive,
  type RekeyProgress,
  rekeyEntries,
} from "./migrate/index.ts";
export { currentView, effective, entryView, liveCopyOf, loadEntry, visible } from "./model/index.ts";
export {
  compareRevisions,
  getRevision,
  listRevisions,
  revealValues,
  revisionNumber,
} from "./read/index.ts";
export {
  archiveEntry,
  createEntry,
  deleteEntry,
  inLiveSchema,
  publishEntry,
  putEntry,
  requireOrb,
  restoreEntry,
  revertEntry,
  TakenMeanwhile,
  type Target,
  unpublishEntry,
  updateEntry,
  type Written,
} from "./write/index.ts";
