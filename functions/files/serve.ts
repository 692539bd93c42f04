/** Routes requests for files: `/api/{orb}/files` and all paths below. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { wrongMethod } from "../http/problem.ts";
import type { AppEnv } from "../request/context.ts";
import { fileDefinitions } from "./definitions.ts";
import { createLink, download } from "./download.ts";
import { describe, library } from "./library.ts";
import { isResumable, serveUpload } from "./resumable.ts";
import { upload } from "./upload.ts";

/** Returns whether the request is an upload. Its body is not read before the caller is authenticated. */
export function isUpload(c: Context<AppEnv>, segments: readonly string[]): boolean {
  return segments.length === 1 ? c.req.method === "POST" : isResumable(segments);
}

/** The path of the tags of all files, where those of files have an id. */
const TAGS = "tags";

/** Returns whether a request is about the library of files, and not about the content of one. */
function isLibrary(method: string, [, id, below, ...more]: readonly string[]): boolean {
  if (more.length > 0) return false;
  // No file has such a short id.
  if (id === undefined || (id === TAGS && below === undefined))
    return method === "GET" || method === "HEAD" || method === "PATCH";
  if (below === undefined) return method === "PATCH" || method === "DELETE";
  return below === "replace" && method === "POST";
}

export async function serveFile(
  c: Context<AppEnv>,
  live: LiveOrb,
  segments: readonly string[],
  caller: ((usesAccess: boolean) => Promise<Actor>) | undefined,
): Promise<Response> {
  if (isResumable(segments)) return serveUpload(c, live.orb, segments[2]);
  const [, id, below] = segments;
  const { method } = c.req;
  if (caller !== undefined && isLibrary(method, segments)) {
    c.set("actor", await caller(live.compiled.usesAccess));
    return library.hand(c, live);
  }
  if (id === undefined || caller === undefined) {
    c.set("route", fileDefinitions.upload.path);
    return method === "POST" ? upload(c, live.orb) : wrongMethod(c, ["GET", "HEAD", "PATCH", "POST"]);
  }
  if (id === TAGS && below === undefined) return wrongMethod(c, ["GET", "HEAD", "PATCH"]);
  if (segments.length > 3) throw notFound("file");
  if (below === "links" && method === "POST") {
    c.set("route", fileDefinitions.link.path);
    return createLink(c, live, id, await caller(live.compiled.usesAccess));
  }
  c.set("route", below === undefined ? fileDefinitions.download.path : fileDefinitions.downloadNamed.path);
  if (method === "GET" || method === "HEAD") {
    if (c.req.query("describe") !== "true") return download(c, live, id, caller);
    return describe(c, live, id, await caller(live.compiled.usesAccess));
  }
  if (below === undefined) return wrongMethod(c, ["DELETE", "GET", "HEAD", "PATCH"]);
  return wrongMethod(c, below === "links" || below === "replace" ? ["GET", "HEAD", "POST"] : ["GET", "HEAD"]);
}
