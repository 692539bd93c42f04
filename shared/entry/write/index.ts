export {
  type Admitted,
  admitChange,
  changeEntry,
  newestIn,
  type Plan,
  planChange,
  type Target,
  type Written,
} from "./change.ts";
export type { Change, Decision, State } from "./change-write.ts";
export { commit, type Destination } from "./commit.ts";
export {
  createEntry,
  creationClaim,
  inLiveSchema,
  liveValues,
  type NewEntry,
  type NewEntryWrite,
  planCreation,
  planNew,
  requireCreation,
  requireOrb,
  schemaFor,
} from "./create.ts";
export { deleteChange, deleteEntry } from "./delete.ts";
export { appendFenced, storeBeside } from "./fenced.ts";
export {
  archiveChange,
  archiveEntry,
  publishEntry,
  restoreChange,
  restoreEntry,
  unpublishChange,
  unpublishEntry,
} from "./lifecycle.ts";
export { fenced, moveEntries } from "./move.ts";
export { prepare } from "./prepare.ts";
export { isTaken, putEntry, TakenMeanwhile } from "./put.ts";
export {
  CONTENDED_ATTEMPTS,
  type Proposing,
  renewDefinition,
  retryOnConflict,
  type WriteRetry,
} from "./retry.ts";
export { revertEntry } from "./revert.ts";
export { commitTogether, onceEach } from "./together.ts";
export { inTurn } from "./turns.ts";
export { requireSchema, statusOf, updateChange, updateEntry } from "./update.ts";
