/** Valid names of orbs, modules, schemas, fields and entries. */
import { SUBJECT_SPACES } from "../../store/subjects.ts";

/** Orb id: 2 to 63 characters. */
export const ORB_ID = /^[a-z][a-z0-9-]{1,62}$/;
/** Module id: 1 to 63 characters, unique in its orb. */
export const MODULE_ID = /^[a-z][a-z0-9-]{0,62}$/;
/** Schema id: like a module id; unique in its module and among the orb's modules of one type. */
export const SCHEMA_ID = MODULE_ID;
/** Field name: 1 to 63 characters. */
export const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;
/**
 * Entry id as created by `newId` in `shared/kernel/ids.ts`. It starts with a digit, so that a path never confuses it
 * with a schema id.
 */
export const ENTRY_ID = /^[0-9][0-9a-z]{7,31}$/;
/** One part of a handler's name `<service>.<handler>`. */
export const HANDLER_PART = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}$/;
/** Market key, such as `US` or `emea-north`: 1 to 32 characters. */
export const MARKET = /^[a-zA-Z][a-zA-Z0-9_-]{0,31}$/;
/** Format of a `ref`: `orbId/moduleId/schemaId`. */
export const REF = /^[a-z][a-z0-9-]{1,62}\/[a-z][a-z0-9-]{0,62}\/[a-z][a-z0-9-]{0,62}$/;

/** Reserved orb ids: those of the specification, and those whose `/api/{name}` is a route of the platform. */
const ROUTES: ReadonlySet<string> = new Set([
  "admin",
  "openapi",
  "discovery",
  "health",
  "metrics",
  "auth",
  "streams",
  "platform",
]);

/**
 * Path segments that exist in every orb and that a module would hide. The orb's own handler names are rejected as
 * well.
 */
const RESERVED_MODULE_IDS: ReadonlySet<string> = new Set(["call", "signin"]);

/** First path segments of a realm's routes, in orbs that use the service `access`. */
export const REALM_SEGMENTS = [
  "passkey",
  "passkeys",
  "invitations",
  "bootstrap",
  "users",
  "me",
  "signout",
] as const;

/** Properties of every entry, which sort and filter use. */
export const ENTRY_PROPERTIES = [
  "id",
  "revision",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
  "validFrom",
  "validTo",
] as const;

/** Property names that every JavaScript object inherits. Never allowed as a key. */
const OBJECT_NAMES = [...Object.getOwnPropertyNames(Object.prototype), "prototype"];

const RESERVED_FIELD_NAMES: ReadonlySet<string> = new Set([...ENTRY_PROPERTIES, ...OBJECT_NAMES]);
const RESERVED_KEYS: ReadonlySet<string> = new Set(OBJECT_NAMES);

/** Returns whether `/api/{name}` is a route of the platform, so that no orb can have the name. */
export function isPlatformRoute(name: string): boolean {
  return name.startsWith("_") || ROUTES.has(name);
}

/**
 * Returns whether a new orb cannot have the name: it is a route of the platform, or the first token of other
 * subjects.
 */
export function isReservedOrbId(id: string): boolean {
  return isPlatformRoute(id) || SUBJECT_SPACES.includes(id);
}

/** Returns whether a module cannot have this name in any orb. */
export function isReservedModuleId(id: string): boolean {
  return RESERVED_MODULE_IDS.has(id);
}

/** Returns whether `/api/{orbId}/{segment}` is a route of user accounts, in orbs with their own realm. */
export function isRealmSegment(segment: string): boolean {
  return (REALM_SEGMENTS as readonly string[]).includes(segment);
}

/** Returns whether `/api/{orbId}/{segment}` is the sign-in page, which every orb has. */
export function isSigninPage(segment: string): boolean {
  return segment === "signin";
}

/** Returns whether a field cannot have this name. */
export function isReservedFieldName(name: string): boolean {
  return RESERVED_FIELD_NAMES.has(name);
}

/** Returns whether the text cannot be a key in maps of languages or markets. */
export function isReservedKey(key: string): boolean {
  return RESERVED_KEYS.has(key);
}

/** Returns whether an orb with this id can exist. An orb whose id was reserved later can still be read and deleted. */
export function isOrbId(id: string): boolean {
  return ORB_ID.test(id) && !isPlatformRoute(id);
}

/** Whether the text has the form of an entry id. */
export function isEntryId(id: string): boolean {
  return ENTRY_ID.test(id);
}

/** The canonical BCP 47 form of a language tag (`en-US`); undefined for anything else. */
export function canonicalLanguage(tag: string): string | undefined {
  if (tag.length > 35) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}
