export {
  describedAs,
  liveFor,
  PinnedItems,
  type PinnedOrb,
  PinnedRequest,
  pinnedOrb,
  type Shape,
  type Shaping,
  shapeHeaders,
  wasLive,
} from "./orb.ts";
export { listUses, MOST_USES, noteUse, USED_DAYS } from "./used.ts";
export { ShapeRefusal } from "./write.ts";
