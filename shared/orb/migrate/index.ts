export { type Before, beforeJudging, type Closed, catchUp, close, reopen, stateNow } from "./gate.ts";
export {
  type Definition,
  enforce,
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
