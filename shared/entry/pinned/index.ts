export {
  describedAs,
  liveFor,
  PinnedItems,
  PinnedRequest,
  pinnedOrb,
  type Shape,
  type Shaping,
  wasLive,
} from "./orb.ts";
export { listUses, MOST_USES, noteUse, USED_DAYS } from "./used.ts";
export { ShapeRefusal } from "./write.ts";
