export {
  type AccountOperation,
  type ChangeOperation,
  covered,
  covers,
  type EditingOperation,
  type EntryOperation,
  EVERY_ORB,
  isAccountOperation,
  isPlatformOperation,
  needOf,
  type Operation,
  PLATFORM_OPERATIONS,
  type PlatformOperation,
  type RealmOperation,
  requireCovered,
  type Scope,
  scopeIn,
  type ViewOperation,
} from "./operations.ts";
export { CANS, type Can } from "./rights.ts";
export { isTokenText, readTokenText, type TokenParts, writeTokenText } from "./token-text.ts";
