import { expect } from "vitest";
import { LANGUAGES } from "../../functions/texts/languages.ts";

/** Pages that browsers open. Every other file is found from them. */
const PAGES = ["/console", "/console/orbs/any", "/api/_auth/signin", "/api/auth/signin", "/api/docs"];

/** Returns the paths that a page, a script or a style refers to. */
function referencesIn(path: string, type: string, body: string): string[] {
  const found: string[] = [];
  if (type.startsWith("text/html"))
    for (const [, to] of body.matchAll(/(?:src|href)="([^"#]+)"/g)) found.push(to ?? "");
  if (type.startsWith("text/javascript") && path.startsWith("/console/"))
    for (const [, to] of body.matchAll(/["'`]((?:\.|\/console\/assets)\/[\w-]+\.(?:js|css))["'`]/g))
      found.push(to ?? "");
  if (type.startsWith("text/css"))
    for (const [, to] of body.matchAll(/url\(["']?(?!data:)([^"')]+)/g)) found.push(to ?? "");
  return found.filter((to) => !to.startsWith("data:")).map((to) => new URL(to, `http://x${path}`).pathname);
}

/**
 * Requests all pages in all languages, and every file that they refer to, also files that load later. Fails if one does
 * not answer 200.
 * @returns the paths, in order
 */
export async function crawl(origin: string): Promise<string[]> {
  const seen = new Set<string>(PAGES);
  for (const path of seen) {
    // A page refers to the texts of one language.
    for (const language of PAGES.includes(path) ? LANGUAGES : ["en"]) {
      const headers = { "accept-language": language };
      const response = await fetch(`${origin}${path}`, { redirect: "manual", headers });
      const body = await response.text();
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      expect(body.length, path).toBeGreaterThan(20);
      for (const to of referencesIn(path, response.headers.get("content-type") ?? "", body)) seen.add(to);
    }
  }
  return [...seen].sort();
}
