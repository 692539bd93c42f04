/** Two equivalent prefixes of the management API. Definitions describe the first; `describeTwins` adds the second. */
import { entryAdmin, platformAdmin } from "../middleware/session.ts";
import { OPERATOR_SESSION } from "./schemas.ts";

export const PREFIXES = ["/api/admin/orbs", "/api/_orbs"] as const;
export type AdminPrefix = (typeof PREFIXES)[number];

export const operatorRoute = (tag: string) => ({
  tags: [tag],
  security: OPERATOR_SESSION,
  "x-role": "platform",
  middleware: [platformAdmin],
});

export function adminRoute(prefix: AdminPrefix, tag: "Orbs" | "Entries") {
  const route = operatorRoute(tag);
  const middleware = tag === "Entries" ? [entryAdmin] : route.middleware;
  return { ...route, middleware, hide: prefix !== PREFIXES[0] };
}

/** Replaces the second prefix by the first, because both address the same resource. */
export function describedPath(path: string): string {
  const [first, second] = PREFIXES;
  return path === second || path.startsWith(`${second}/`) ? first + path.slice(second.length) : path;
}
