export { enforce, orWithdraw } from "./enforce.ts";
export { type Before, beforeJudging, type Closed, catchUp, close, reopen, stateNow } from "./gate.ts";
export {
  type Definition,
  type Impact,
  isObstructed,
  namesFor,
  type Plan,
  planChange,
  reindexed,
} from "./impact.ts";
export {
  beginDeletion,
  eraseAbandoned,
  finishDeletion,
  placeTombstone,
  reconcileAll,
  reconcileOrb,
} from "./reconcile.ts";
export { eraseUnfinished } from "./unfinished.ts";
