/** Routes requests for files: `/api/{orb}/files` and all paths below. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { wrongMethod } from "../http/problem.ts";
import type { AppEnv } from "../request/context.ts";
import { fileDefinitions } from "./definitions.ts";
import { createLink, download } from "./download.ts";
import { isResumable, serveUpload } from "./resumable.ts";
import { upload } from "./upload.ts";

/** Returns whether the request is an upload. Its body is not read before the caller is authenticated. */
export function isUpload(c: Context<AppEnv>, segments: readonly string[]): boolean {
  return segments.length === 1 ? c.req.method === "POST" : isResumable(segments);
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
  if (id === undefined || caller === undefined) {
    c.set("route", fileDefinitions.upload.path);
    return method === "POST" ? upload(c, live.orb) : wrongMethod(c, ["POST"]);
  }
  if (segments.length > 3) throw notFound("file");
  if (below === "links" && method === "POST") {
    c.set("route", fileDefinitions.link.path);
    return createLink(c, live, id, await caller(live.compiled.usesAccess));
  }
  c.set("route", below === undefined ? fileDefinitions.download.path : fileDefinitions.downloadNamed.path);
  if (method === "GET" || method === "HEAD") return download(c, live, id, caller);
  return wrongMethod(c, below === "links" ? ["GET", "HEAD", "POST"] : ["GET", "HEAD"]);
}
