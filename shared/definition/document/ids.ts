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
 * Entry id as created by `newId` in `shared/kernel/ids.ts`. It starts with a digit, so that a path never confuses it with a
 * schema id.
 */
export const ENTRY_ID = /^[0-9][0-9a-z]{7,31}$/;
/** One part of a handler's name `<service>.<handler>`. */
export const HANDLER_PART = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}$/;
/** Market key, such as `US` or `emea-north`: 1 to 32 characters. */
export const MARKET = /^[a-zA-Z][a-zA-Z0-9_-]{0,31}$/;
/** Format of a `ref`: `orbId/moduleId/schemaId`. */
export const REF = /^[a-z][a-z0-9-]{1,62}\/[a-z][a-z0-9-]{0,62}\/[a-z][a-z0-9-]{0,62}$/;

/** Names that the specification reserves, and those that would shadow a route: an orb of such a name cannot be reached. */
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

/** Path segments that a module would hide in every orb. The orb's own handler names are rejected as well. */
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

/** Whether `/api/{name}` is the platform's own route, which no orb can have. */
export function isPlatformRoute(name: string): boolean {
  return name.startsWith("_") || ROUTES.has(name);
}

/** Whether no new orb may have the name: a route of the platform, or where others have their subjects. */
export function isReservedOrbId(id: string): boolean {
  return isPlatformRoute(id) || SUBJECT_SPACES.includes(id);
}

/** Whether no module may have this name, whatever handlers the orb uses. */
export function isReservedModuleId(id: string): boolean {
  return RESERVED_MODULE_IDS.has(id);
}

/** Whether `/api/{orbId}/{segment}` belongs to the accounts of an orb with its own realm, whatever handlers it uses. */
export function isRealmSegment(segment: string): boolean {
  return (REALM_SEGMENTS as readonly string[]).includes(segment);
}

/** Whether `/api/{orbId}/{segment}` is the sign-in page, which every orb has. */
export function isSigninPage(segment: string): boolean {
  return segment === "signin";
}

/** Whether no field may have this name. */
export function isReservedFieldName(name: string): boolean {
  return RESERVED_FIELD_NAMES.has(name);
}

/** Whether the text must not be a key in maps of languages or markets. */
export function isReservedKey(key: string): boolean {
  return RESERVED_KEYS.has(key);
}

/** Whether an orb of this id may exist. One whose name was reserved later can still be read and deleted. */
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
