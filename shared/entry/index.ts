/** The verbs of entries, for transports, scripts and other services. */
export { claimExisting, entryCounts, invalidEntries, moveLive } from "./migrate/publishing.ts";
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
