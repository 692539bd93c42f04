export {
  ACTIONS,
  type Action,
  ADMINS_ONLY,
  accessLists,
  BUILT_IN_ROLES,
  CALLERS,
  compileAccess,
  compileFieldAccess,
  type FieldAccess,
  type Grant,
  handlersIn,
  liveRoleOf,
  lowestRole,
  NO_ROLES,
  type OrbRoles,
  rolesOf,
  type SchemaAccess,
  shownAccess,
} from "./access.ts";
export { ACT_OF, ACTS, type Act, onlyReads } from "./acts.ts";
export { type ChangeLog, changeLog, type Operation, patch } from "./diff.ts";
export {
  DEFAULT_LANGUAGE,
  FIELD_WIDTHS,
  type FieldDefinition,
  fieldSchema,
  LIMITS,
  MODULE_TYPES,
  type ModuleDefinition,
  type ModuleType,
  NUMBER_FORMATS,
  type OrbDocument,
  orbDocumentSchema,
  type SchemaDefinition,
  SESSION_TTL,
} from "./document.ts";
export {
  type Home,
  type HomeKey,
  homeKey,
  homeOf,
  type SchemaToken,
  SUBJECT_TYPES,
  schemaToken,
} from "./home.ts";
export {
  type ChangeEvent,
  type EntryEvent,
  type HookDefinition,
  type HookEvent,
  isChangeEvent,
  isForMentions,
  isForSets,
  runsAfter,
} from "./hooks.ts";
export {
  accessHandler,
  BUILT_IN_SERVICES,
  canonicalLanguage,
  ENTRY_ID,
  ENTRY_PROPERTIES,
  FIELD_NAME,
  HANDLER_PART,
  hidesRealmSegment,
  isEntryId,
  isOrbId,
  isPlatformRoute,
  isRealmSegment,
  isReservedModuleId,
  isSigninPage,
  KEY,
  MARKET,
  MODULE_ID,
  ORB_ID,
  REALM_SEGMENTS,
  REF,
  ROLE_ID,
  shortPath,
} from "./ids.ts";
export { next, STATUSES, type Status } from "./lifecycle.ts";
export { filledIn, PREVIEW_PARTS, placeholdersIn, previewOrigin } from "./preview.ts";
export { isAllowedAddress, masked, type ProviderDefinition, providerBinding, SEALED } from "./providers.ts";
export { CRON_DEFAULT_ZONE, plainCron, type ScheduleDefinition } from "./schedules.ts";
export { isEntryRule, joinOf, movesOf, readsOf, ruleOf, sourceOf, splitOf, untoldReads } from "./source.ts";
export {
  currentPointer,
  idIn,
  isPolymorphic,
  keyOfRef,
  type Pointer,
  pointerIn,
  type ReferenceTarget,
  refsOf,
  targetKey,
  targetNamed,
  targetsOf,
} from "./targets.ts";
export { MASK, textFlaw, words } from "./text.ts";
export { compileWorkflow, REVIEW_LIMITS, REVIEWER_ROLES, type ReviewRule } from "./workflow.ts";
