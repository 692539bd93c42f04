export { ahead, inBatches, type Part } from "./batches.ts";
export { type EntryKey, holdsKey, keyIn, ownerOf, ownersOf, readKey } from "./by-key.ts";
export {
  type EntryKeys,
  entryKeys,
  formsBefore,
  formsOf,
  lookUpReservations,
  publishedOf,
  readReservations,
  refusedValues,
  storedPublished,
  withReservations,
} from "./entry-keys.ts";
export { isUnmatchedKey, missingKeys, withReferences, withRenamedKeys } from "./keyed-references.ts";
export { withMarkup } from "./markup.ts";
export { checkTargets, isReferred, referenced, referrersOf } from "./references.ts";
export {
  type IndexEntry,
  type IndexScan,
  type IndexWindow,
  messagesBackwards,
  messagesInOrder,
  readPage,
  readPlaces,
  type ScanStart,
  scanForwards,
  scanInOrder,
} from "./scan.ts";
export { entriesSince, scanEntries } from "./scan-entries.ts";
export { cancelMessages, liveTombstone, publishMessages, repairAfterCancel } from "./schedules.ts";
export { withoutMade, withSlugs } from "./slugs.ts";
export {
  type ListedEntry,
  maskedRevision,
  newestRevision,
  presentEntry,
  type RuntimeEntry,
  readEntries,
  readLive,
  seenBy,
  type VisibleEntry,
  type WantedEntry,
} from "./visible.ts";
export { mostScattered, readSmall, readWhole } from "./whole.ts";
