/** The verbs of entries, for transports, scripts and other services. */
export { type BulkResult, bulkWrite } from "./bulk.ts";
export type { Target, Written } from "./change.ts";
export { createEntry, requireOrb } from "./create.ts";
export { deleteEntry } from "./delete.ts";
export { currentView } from "./known.ts";
export { archiveEntry, publishEntry, restoreEntry, unpublishEntry } from "./lifecycle.ts";
export { claimExisting, entryCounts, invalidEntries, moveLive } from "./publishing.ts";
export { type RekeyProgress, rekeyEntries } from "./rekey.ts";
export { loadEntry } from "./resolve.ts";
export { revealValues } from "./reveal.ts";
export { revertEntry } from "./revert.ts";
export { compareRevisions, getRevision, listRevisions, revisionNumber } from "./revisions.ts";
export { effective, entryView, liveCopyOf, visible } from "./snapshot.ts";
export { updateEntry } from "./update.ts";
