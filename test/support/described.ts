/** Reads what the platform tells of itself, in as many requests as it takes. */
import type { ApiDocument } from "../../functions/discovery/document.ts";
import type { ActiveRoute } from "../../shared/orb/routes.ts";
import { call } from "./auth.ts";

type Platform = Parameters<typeof call>[0];

/**
 * Returns the description of the platform's routes and of those of published orbs, as one document.
 * @param orbs ids of the orbs; by default all, also those that other files have left on a shared platform
 */
export async function describedWhole(platform: Platform, orbs?: readonly string[]): Promise<ApiDocument> {
  const read = async (path: string) => (await call(platform, "GET", path)).body as ApiDocument;
  const own = await read("/api/openapi");
  const wanted = (own["x-orbs"] ?? []).filter(({ id }) => orbs === undefined || orbs.includes(id));
  const parts = await Promise.all(wanted.map(({ openapi }) => read(openapi)));
  const all = [own, ...parts];
  const merged = <K extends "schemas" | "securitySchemes">(member: K) =>
    Object.assign({}, ...all.map(({ components }) => components[member])) as ApiDocument["components"][K];
  return {
    ...own,
    tags: all.flatMap(({ tags }) => tags),
    paths: Object.assign({}, ...all.map(({ paths }) => paths)) as ApiDocument["paths"],
    components: {
      ...own.components,
      schemas: merged("schemas"),
      securitySchemes: merged("securitySchemes"),
    },
  };
}

/** Returns the active routes of one orb, from all pages. */
export async function activeRoutes(
  platform: Platform,
  token: string,
  orb: string,
  limit = 1_000,
): Promise<ActiveRoute[]> {
  const found: ActiveRoute[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const path = `/api/admin/routes?orb=${orb}&limit=${limit}${more}`;
    const page = (await call(platform, "GET", path, { token })).body as {
      items: ActiveRoute[];
      nextCursor: string | null;
    };
    found.push(...page.items);
    cursor = page.nextCursor;
  }
  return found;
}
