import { SUBJECT_SPACES } from "../../store/subjects.ts";

export const ORB_ID = /^[a-z][a-z0-9_-]{1,62}$/;
export const MODULE_ID = /^[a-z][a-z0-9-]{0,62}$/;
export const SCHEMA_ID = /^[a-zA-Z][a-zA-Z0-9-]{0,62}$/;
export const ROLE_ID = MODULE_ID;
export const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;
/** Name of the member that identifies an item in a list of objects. */
export const KEY = "_key";
/** An entry id. It starts with a digit, so that URLs never confuse it with a schema id. */
export const ENTRY_ID = /^[0-9][0-9a-z]{7,31}$/;
export const HANDLER_PART = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}$/;
/** The full name of a handler: `service.handler`. */
export const HANDLER_NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}\.[a-zA-Z][a-zA-Z0-9_-]{0,62}$/;
/** Services whose handlers are built into the platform. */
export const BUILT_IN_SERVICES: readonly string[] = ["access", "rules", "transactions", "settings"];
/** A market, such as `US` or `emea-north`: 1 to 32 characters. */
export const MARKET = /^[a-zA-Z][a-zA-Z0-9_-]{0,31}$/;
/** A reference to a schema: `orbId/moduleId/schemaId`. */
export const REF = /^[a-z][a-z0-9_-]{1,62}\/[a-z][a-z0-9-]{0,62}\/[a-zA-Z][a-zA-Z0-9-]{0,62}$/;

/** Application ids that are reserved, because the specification or the routes of the platform use them. */
const ROUTES: ReadonlySet<string> = new Set([
  "admin",
  "openapi",
  "discovery",
  "health",
  "metrics",
  "auth",
  "streams",
  "platform",
  "mcp",
]);

/** Reserved module ids, because every orb (application) has routes with these path segments. */
const RESERVED_MODULE_IDS: ReadonlySet<string> = new Set(["call", "signin"]);

/** Path segments of the account routes that orbs (applications) with user accounts have. */
export const REALM_SEGMENTS = [
  "passkey",
  "passkeys",
  "invitations",
  "bootstrap",
  "users",
  "me",
  "signout",
  "sessions",
  "recovery-codes",
  "tokens",
  "oauth",
  "identities",
] as const;

/** Handlers of the built-in service `access`. */
const ACCESS_HANDLERS = ["passkey", "invitations", "bootstrap", "oauth"] as const;

/** Returns the full name of the `access` handler that a path segment names. */
export function accessHandler(segment: string): string | undefined {
  return (ACCESS_HANDLERS as readonly string[]).includes(segment) ? `access.${segment}` : undefined;
}

/** Removes `/call` from the path of a handler, `/api/{orbId}/call/{handler}/…`. Both forms of the path are valid. */
export function shortPath(path: string): string {
  return path.replace(/^(\/api\/[^/]+)\/call\//, "$1/");
}

/** Property names that every entry has. Fields cannot have these names. */
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

/** Names that every JavaScript object inherits. They are never valid keys. */
const OBJECT_NAMES = [...Object.getOwnPropertyNames(Object.prototype), "prototype"];

const RESERVED_FIELD_NAMES: ReadonlySet<string> = new Set([...ENTRY_PROPERTIES, ...OBJECT_NAMES]);
const RESERVED_KEYS: ReadonlySet<string> = new Set(OBJECT_NAMES);

export function isPlatformRoute(name: string): boolean {
  return name.startsWith("_") || ROUTES.has(name);
}

/** Returns whether an id is reserved, so that no new orb (application) can have it. */
export function isReservedOrbId(id: string): boolean {
  return isPlatformRoute(id) || SUBJECT_SPACES.includes(id);
}

export function isReservedModuleId(id: string): boolean {
  return RESERVED_MODULE_IDS.has(id);
}

/** Returns whether `/api/{orbId}/{segment}` is a route for user accounts, such as signing in. */
export function isRealmSegment(segment: string): boolean {
  return (REALM_SEGMENTS as readonly string[]).includes(segment);
}

/**
 * Returns whether a module of an application already uses the path of an account route. That is possible only if the
 * definition is older than the route. The module then keeps its path.
 */
export function hidesRealmSegment(
  { modules }: { modules: readonly { id: string }[] },
  segment: string,
): boolean {
  return isRealmSegment(segment) && modules.some(({ id }) => id === segment);
}

export function isSigninPage(segment: string): boolean {
  return segment === "signin";
}

export function isReservedFieldName(name: string): boolean {
  return RESERVED_FIELD_NAMES.has(name);
}

export function isReservedKey(key: string): boolean {
  return RESERVED_KEYS.has(key);
}

/** Returns whether an existing orb (application) can have this id. Ids that became reserved later stay usable. */
export function isOrbId(id: string): boolean {
  return ORB_ID.test(id) && !isPlatformRoute(id);
}

export function isEntryId(id: string): boolean {
  return ENTRY_ID.test(id);
}

/** Returns the canonical BCP 47 language tag (`en-US`), or undefined if the tag is invalid. */
export function canonicalLanguage(tag: string): string | undefined {
  if (tag.length > 35) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}
