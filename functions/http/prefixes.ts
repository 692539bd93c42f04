/** The two addresses of the management API. Every route exists below both; only the first is described. */
import { entryAdmin, platformAdmin } from "../middleware/session.ts";

export const PREFIXES = ["/api/admin/orbs", "/api/_orbs"] as const;
export type AdminPrefix = (typeof PREFIXES)[number];

/** Shared settings of the routes that only platform admins use. */
export const operatorRoute = (tag: string) => ({
  tags: [tag],
  security: [{ bearer: [] }],
  middleware: [platformAdmin],
});

/** Shared settings of the routes below a prefix. */
export function adminRoute(prefix: AdminPrefix, tag: "Orbs" | "Entries") {
  const route = operatorRoute(tag);
  const middleware = tag === "Entries" ? [entryAdmin] : route.middleware;
  return { ...route, middleware, hide: prefix !== PREFIXES[0] };
}

/** Returns the path at the first of its two addresses, because requests to both are the same request. */
export function describedPath(path: string): string {
  const [first, second] = PREFIXES;
  return path === second || path.startsWith(`${second}/`) ? first + path.slice(second.length) : path;
}
