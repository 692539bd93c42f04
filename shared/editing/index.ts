export { namingOf } from "./names.ts";
export { attend, leave, PRESENCE_LIMITS } from "./presence.ts";
export {
  type Changed,
  discardUnsaved,
  keepUnsaved,
  listUnsaved,
  readUnsaved,
  UNSAVED_LIMITS,
  type UnsavedIn,
} from "./unsaved.ts";
