export { enforce } from "./enforce.ts";
export { type Before, beforeJudging, type Closed, catchUp, close, reopen, stateNow } from "./gate.ts";
export {
  type Definition,
  type Impact,
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
