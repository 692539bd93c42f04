/** The two addresses of the management API: every path below one is served below the other, and only the first is described. */
import { entryAdmin, platformAdmin } from "../middleware/session.ts";

export const PREFIXES = ["/api/admin/orbs", "/api/_orbs"] as const;
export type AdminPrefix = (typeof PREFIXES)[number];

/** What every route below a prefix shares. */
export function adminRoute(prefix: AdminPrefix, tag: "Orbs" | "Entries") {
  return {
    tags: [tag],
    security: [{ bearer: [] }],
    middleware: [tag === "Entries" ? entryAdmin : platformAdmin],
    hide: prefix !== PREFIXES[0],
  };
}

/** A path by the first of its two addresses: what is sent to either is the same request. */
export function describedPath(path: string): string {
  const [first, second] = PREFIXES;
  return path === second || path.startsWith(`${second}/`) ? first + path.slice(second.length) : path;
}
