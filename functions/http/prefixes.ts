/**
 * The two equivalent path prefixes of the management API. Routes are defined with the first. `describeTwins` adds the
 * second to the OpenAPI document.
 */
import {
  type ChangeOperation,
  type EditingOperation,
  type EntryOperation,
  needOf,
  type Operation,
  type PlatformOperation,
  type ViewOperation,
} from "../../shared/access/credentials/index.ts";
import { entryAdmin, platformAdmin } from "../middleware/session.ts";
import { withoutDefinition } from "./definition-header.ts";
import { OPERATOR_SESSION } from "./schemas.ts";

export const PREFIXES = ["/api/admin/orbs", "/api/_orbs"] as const;
export type AdminPrefix = (typeof PREFIXES)[number];

/** OpenAPI extension that tells which scopes an API token needs for the operation. */
export const scopesFor = (operation: Operation) => ({ "x-scope": needOf(operation) });

export const operatorRoute = (tag: string, operation: PlatformOperation) => ({
  tags: [tag],
  security: OPERATOR_SESSION,
  "x-role": "platform",
  ...scopesFor(operation),
  middleware: [platformAdmin(operation)],
});

export function adminRoute(prefix: AdminPrefix, operation: PlatformOperation) {
  return { ...operatorRoute("Orbs", operation), hide: prefix !== PREFIXES[0] };
}

/** The properties of a route about everything that an application stores. */
export const contentRoute = (prefix: AdminPrefix, operation: PlatformOperation) => ({
  ...adminRoute(prefix, operation),
  tags: ["Orbs: content"],
});

export function entryRoute(
  prefix: AdminPrefix,
  operation: EntryOperation | ChangeOperation | EditingOperation | ViewOperation | PlatformOperation,
) {
  return {
    ...operatorRoute("Entries", "entries.read"),
    ...scopesFor(operation),
    middleware: [withoutDefinition, entryAdmin(operation)],
    hide: prefix !== PREFIXES[0],
  };
}

/**
 * The properties of a route about entries that shows and takes the shape of the revision that the header `Orb-Definition`
 * or the caller's API token names.
 */
export const shapedRoute = (prefix: AdminPrefix, operation: EntryOperation | PlatformOperation) => ({
  ...entryRoute(prefix, operation),
  middleware: [entryAdmin(operation, true)],
});

/** Replaces the second path prefix with the first, because both lead to the same resource. */
export function describedPath(path: string): string {
  const [first, second] = PREFIXES;
  return path === second || path.startsWith(`${second}/`) ? first + path.slice(second.length) : path;
}
