import type { Context } from "hono";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import { handlerRefusal } from "../../shared/access/refusals.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { isShown } from "../../shared/files/content-type.ts";
import {
  contentOf,
  type FoundFile,
  findFile,
  keptContent,
  type Part,
  pagesOf,
} from "../../shared/files/download.ts";
import { isSigned, LINK_SECONDS, signLink } from "../../shared/files/links.ts";
import { CHUNK_BYTES } from "../../shared/files/object.ts";
import { type FileRecord, fileUrl } from "../../shared/files/record.ts";
import { variantFile } from "../../shared/files/variants.ts";
import { AppError, invalid, invalidParameters } from "../../shared/kernel/errors.ts";
import { isObject } from "../../shared/kernel/json.ts";
import { matchesTag } from "../http/etag.ts";
import { withLength } from "../http/fixed-length.ts";
import { pacedStream } from "../http/paced-stream.ts";
import { readJson } from "../middleware/body.ts";
import { completeResponse } from "../middleware/headers.ts";
import { type AppEnv, type Host, holdConnection } from "../request/context.ts";
import { disposition, RangeMissing, rangeOf } from "./headers.ts";
import { parametersOf, VARIANT_PARAMETERS, variantIn } from "./parameters.ts";

/**
 * Content security policy of files. If a browser displays a file, its scripts do not run, and it cannot access data of
 * the platform's origin.
 */
const SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'";

/** Returns whether the request has a signed link. Throws 403 if the link is invalid or has expired. */
async function hasLink(
  c: Context<AppEnv>,
  orb: string,
  id: string,
  { expires, signature }: { expires?: string; signature?: string },
): Promise<boolean> {
  if (expires === undefined && signature === undefined) return false;
  const link = {
    expires: /^\d{1,12}$/.test(expires ?? "") ? Number(expires) : 0,
    signature: signature ?? "",
  };
  if (await isSigned(c.var.deps, orb, id, link)) return true;
  const detail = "The link has expired or is not valid. Ask for a new one.";
  throw new AppError("forbidden", "link_expired", detail);
}

/** Browsers and proxies ask again before they show a file of an entry, because the entry may be unpublished. */
const CACHING = {
  public: "public, max-age=300",
  open: "public, no-cache",
  private: "private, no-cache",
} as const;

function headersFor({ record, reading }: FoundFile, signed: boolean, saves: boolean): Record<string, string> {
  // If a file can be read without a session, pages of other origins may embed it.
  const isOpen = reading !== "private" || signed;
  const kind = !saves && isShown(record.type) ? "inline" : "attachment";
  const isText = record.type.startsWith("text/") || record.type === "application/json";
  return {
    "content-type": isText ? `${record.type}; charset=utf-8` : record.type,
    etag: `"${record.sha256}"`,
    "accept-ranges": "bytes",
    "content-disposition": disposition(kind, record.name),
    "content-security-policy": SANDBOX,
    "cache-control": CACHING[reading],
    "cross-origin-resource-policy": isOpen ? "cross-origin" : "same-origin",
    ...(isOpen ? {} : { vary: "Authorization, Cookie" }),
  };
}

/** Sends a file only as fast as the client receives it. Returns null if the host sends the content itself. */
function bodyOf(
  c: Context<AppEnv>,
  orb: string,
  record: FileRecord,
  part: Part,
  disk: Host["content"],
): ReadableStream<Uint8Array> | null {
  const { deps, host } = c.var;
  const stopped = (error: unknown) =>
    deps.log.warn("download stopped", {
      orb,
      error: error instanceof AppError ? error.code : String(error),
    });
  const bytes = part.end - part.start;
  if (host.sendContent !== undefined) {
    host.sendContent(c, { pages: pagesOf(deps, orb, record, part, disk), bytes, stopped });
    return null;
  }
  const parts = contentOf(deps, orb, record, part, disk);
  return withLength(pacedStream(parts, { failed: stopped, ended: holdConnection(c) }), bytes);
}

async function wholeOf(parts: AsyncIterable<Uint8Array>, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for await (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export async function download(
  c: Context<AppEnv>,
  live: LiveOrb,
  id: string,
  caller: (usesAccess: boolean) => Promise<Actor>,
): Promise<Response> {
  const { deps, host } = c.var;
  const query = parametersOf(c, ["download", "describe", "expires", "signature", ...VARIANT_PARAMETERS]);
  for (const flag of ["download", "describe"] as const) {
    if (["true", "false", undefined].includes(query[flag])) continue;
    const message = "must be true or false";
    throw invalidParameters([{ path: `/${flag}`, code: "invalid_value", message }]);
  }
  const signed = await hasLink(c, live.orb, id, query);
  const actor = signed ? anonymous : await caller(live.compiled.usesAccess);
  const original = await findFile(deps, actor, live, id, signed);
  const variant = variantIn(query, live, original.record);
  const found =
    variant === undefined
      ? original
      : { ...original, record: await variantFile(deps, live, original.record, variant) };
  const headers = headersFor(found, signed, query.download === "true");
  const { etag = "" } = headers;
  const { size } = found.record;
  if (matchesTag(c.req.header("if-none-match"), etag)) return completeResponse(c, null, 304, headers);
  const ifRange = c.req.header("if-range");
  try {
    const range =
      ifRange === undefined || ifRange === etag ? rangeOf(c.req.header("range"), size) : undefined;
    const { start, end } = range ?? { start: 0, end: size };
    headers["content-length"] = String(end - start);
    if (range !== undefined) headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
    const status = range === undefined ? 200 : 206;
    if (c.req.method === "HEAD" || start === end) return completeResponse(c, null, status, headers);
    const part = { start, end };
    const disk = found.reading === "private" ? undefined : host.content;
    const kept = range === undefined ? keptContent(deps, found.record) : undefined;
    if (found.reading !== "private") c.set("keptContent", kept);
    // For a small file, sending all bytes in one piece is cheaper than a stream.
    if (end - start <= CHUNK_BYTES) {
      const body =
        kept?.() ?? (await wholeOf(contentOf(deps, live.orb, found.record, part, disk), end - start));
      return c.body(body, status, headers);
    }
    return c.newResponse(bodyOf(c, live.orb, found.record, part, disk), status, headers);
  } catch (error) {
    if (!(error instanceof RangeMissing)) throw error;
    return completeResponse(c, null, 416, { ...headers, "content-range": `bytes */${size}` });
  }
}

export async function createLink(
  c: Context<AppEnv>,
  live: LiveOrb,
  id: string,
  actor: Actor,
): Promise<Response> {
  const { deps } = c.var;
  // A handler's credential lasts seconds. A link would let the service read the file for days.
  if (actor.kind === "handler") throw handlerRefusal(actor);
  parametersOf(c, []);
  const body = await readJson(c, false);
  const { seconds = LINK_SECONDS.default, ...others } = isObject(body) ? body : { seconds: "" };
  const { min, max } = LINK_SECONDS;
  const faults = Object.keys(others).map((key) => ({
    path: `/${key.slice(0, 64)}`,
    code: "unknown_property",
    message: "is not a known property. Use seconds.",
  }));
  const valid = typeof seconds === "number" && Number.isInteger(seconds) && seconds >= min && seconds <= max;
  if (!valid) {
    const message = `must be a whole number from ${min} to ${max}`;
    faults.push({ path: "/seconds", code: "range", message });
  }
  if (!valid || faults.length > 0) throw invalid(faults);
  const { record } = await findFile(deps, actor, live, id);
  const expires = Math.floor(deps.clock.now() / 1000) + seconds;
  const signature = await signLink(deps.config, live.orb, id, expires);
  const url = `${fileUrl(live.orb, record)}?expires=${expires}&signature=${signature}`;
  const link = { url, expiresAt: new Date(expires * 1000).toISOString() };
  return completeResponse(c, JSON.stringify(link), 201, { "content-type": "application/json" });
}
