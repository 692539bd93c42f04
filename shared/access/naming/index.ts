export {
  NAME_LIMITS,
  type NamingOrb,
  namesOf,
  namesOfTokens,
  realmsOf,
  requireNames,
  searchNames,
} from "./names.ts";
