/** Which names orbs, modules, schemas, fields and entries may have. Sources: specification "Reserved orb ids"; decisions, section 2. */
import { SUBJECT_SPACES } from "../store/subjects.ts";

/** Orb id: 2 to 63 characters. */
export const ORB_ID = /^[a-z][a-z0-9-]{1,62}$/;
/** Module id: 1 to 63 characters, unique in its orb. */
export const MODULE_ID = /^[a-z][a-z0-9-]{0,62}$/;
/** Schema id: like a module id; unique in its module, and among the modules of one type in the orb. */
export const SCHEMA_ID = MODULE_ID;
/** Field name: 1 to 63 characters. */
export const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;
/** Entry id, as `newId` of `shared/ids.ts` makes them: begins with a digit, so that it is never taken for a schema id in a path. */
export const ENTRY_ID = /^[0-9][0-9a-z]{7,31}$/;
/** One part of a handler's name `<service>.<handler>`. */
export const HANDLER_PART = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}$/;
/** Market key, such as `US` or `emea-north`: 1 to 32 characters. */
export const MARKET = /^[a-zA-Z][a-zA-Z0-9_-]{0,31}$/;
/** What a `ref` looks like: `orbId/moduleId/schemaId`. */
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

/** Path segments of every orb that a module would hide. The names of the orb's own handlers are refused too. */
const RESERVED_MODULE_IDS: ReadonlySet<string> = new Set(["call", "signin"]);

/** First segments of a realm's routes, which an orb that uses the service `access` has below its own path. */
export const REALM_SEGMENTS = [
  "passkey",
  "passkeys",
  "invitations",
  "bootstrap",
  "users",
  "me",
  "signout",
] as const;

/** Sort and filter use these names for the entry's own properties. */
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

/** Names that every JavaScript object answers to: refused everywhere a name becomes a key. */
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

/** Whether the name can never be a module's, whatever handlers the orb uses. */
export function isReservedModuleId(id: string): boolean {
  return RESERVED_MODULE_IDS.has(id);
}

/** Whether `/api/{orbId}/{segment}` belongs to the accounts of an orb that has a realm of its own, whatever handlers it uses. */
export function isRealmSegment(segment: string): boolean {
  return (REALM_SEGMENTS as readonly string[]).includes(segment);
}

/** Whether `/api/{orbId}/{segment}` is the sign-in page, which every orb has. */
export function isSigninPage(segment: string): boolean {
  return segment === "signin";
}

/** Whether the name can never be a field's. */
export function isReservedFieldName(name: string): boolean {
  return RESERVED_FIELD_NAMES.has(name);
}

/** Whether the text is unfit to be a key of any map that callers name (languages, markets). */
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

/** The language in its canonical BCP 47 form (`en-US`), or undefined when it is no language tag. */
export function canonicalLanguage(tag: string): string | undefined {
  if (tag.length > 35) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}
