export { compiled, compileStored } from "./compiled.ts";
export { deciding, fenceGuard, fenceNow, isAnotherOrb, moveFence, requireWhole, UNFENCED } from "./fence.ts";
export {
  type Act,
  addedTo,
  appendRecord,
  type EntryWork,
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  findRevision,
  headOf,
  historyLog,
  type IndexPlace,
  type KeyWork,
  nextRevision,
  type OrbHead,
  type OrbOperation,
  type OrbRecord,
  orbHead,
} from "./history.ts";
export { heartbeat, ImportMark, isAlive, startHeartbeat } from "./importing.ts";
export {
  type Activation,
  activationOf,
  checkLive,
  type DamagedOrb,
  definitionFor,
  type LiveSummary,
  lastLive,
  liveAhead,
  liveOrb,
  noLiveOrb,
  publishedDefinitions,
  type QueueSummary,
  readableRecord,
  recordOf,
  requireLive,
  storedDefinitions,
  summaryOf,
  usableOrb,
} from "./live.ts";
export {
  activateRecord,
  type CurrentLiveRecord,
  findsFence,
  giveFence,
  isAwaiting,
  isReconciled,
  lastReopening,
  liveRecord,
  mayBeRunning,
  putDeleted,
  putNext,
  repairFence,
  rewriteLive,
  type StoredLiveRecord,
  settleAwaited,
  unlessReopened,
  wantedRecord,
} from "./live-record.ts";
export { forgetAllLosses, forgetLoss, type KnownLoss, knownLosses, orbOfLoss, tellLoss } from "./losses.ts";
export { concernsOneOrb, isUnusable, requireReadable, unreadableAt } from "./readable.ts";
export { FORMS_VERSION, fenceOf, type LiveRecord, type NextDefinition, withoutWork } from "./record.ts";
