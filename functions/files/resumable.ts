/** Resumable uploads with the protocol tus 1.0. The broker stores the state, so any process can serve any request. */
import type { Context, MiddlewareHandler } from "hono";
import { safeName } from "../../shared/files/content-type.ts";
import { fileUrl } from "../../shared/files/record.ts";
import {
  appendUpload,
  beginUpload,
  endUpload,
  type Resumable,
  uploadState,
} from "../../shared/files/resumable.ts";
import type { UploadState } from "../../shared/files/upload-state.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { wrongMethod } from "../http/problem.ts";
import { completeResponse } from "../middleware/headers.ts";
import { requireUsable } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { parametersOf } from "./parameters.ts";
import { resumableDefinitions } from "./resumable-definitions.ts";
import { authorityOf, bodyOf } from "./upload.ts";

const badHeader = (detail: string) => new AppError("malformed", "invalid_header", detail);

/** Returns the value of a header that is a number of bytes. */
function wholeIn(name: string, value: string | undefined): number {
  if (/^\d{1,15}$/.test(value ?? "")) return Number(value);
  throw badHeader(`${name} must be a number of bytes, such as 1048576.`);
}

/** Maximum characters of the header `Upload-Metadata`. The platform stores it with the upload. */
const MAX_METADATA = 4096;

function pairIn(pair: string): [string, string] {
  const [, key, value = ""] = /^([\x21-\x7e]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim()) ?? [];
  if (key === undefined) throw new TypeError("no pair");
  const bytes = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  return [key, new TextDecoder("utf-8", { fatal: true }).decode(bytes)];
}

/** Parses the header `Upload-Metadata`. It lists pairs of a key and a base64 value, separated by commas. */
function metadataIn(header: string | undefined): Partial<Record<string, string>> {
  if (header === undefined || header === "") return {};
  try {
    if (header.length <= MAX_METADATA) return Object.fromEntries(header.split(",").map(pairIn));
  } catch {
    // Invalid base64: the error below says what is wrong.
  }
  const most = `at most ${MAX_METADATA} characters`;
  throw badHeader(
    `Upload-Metadata must have pairs of a key and a value in base64, such as filename c3VuLnBuZw==, ${most}.`,
  );
}

const VERSION = "1.0.0";
const EXTENSIONS = "creation,creation-with-upload,termination,expiration";
const PART_TYPE = "application/offset+octet-stream";

/** Returns whether a path belongs to resumable uploads. No file can have the id `uploads`. */
export function isResumable([files, uploads, ...rest]: readonly string[]): boolean {
  return files === "files" && uploads === "uploads" && rest.length < 2;
}

/**
 * Adds the tus headers to every response, including errors. The response to `OPTIONS` lists the supported extensions.
 */
export const tusHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  const { headers } = c.res;
  if (c.req.method === "OPTIONS") {
    headers.set("tus-extension", EXTENSIONS);
    headers.set("tus-max-size", String(c.var.deps.config.fileBytes));
  } else headers.set("tus-resumable", VERSION);
  headers.set("tus-version", VERSION);
};

/** Returns the HTTP method. A client that can send only `POST` sends the intended method in a header. */
function methodOf(c: Context<AppEnv>): string {
  const { method } = c.req;
  return method === "POST" ? (c.req.header("x-http-method-override")?.toUpperCase() ?? method) : method;
}

export async function serveUpload(
  c: Context<AppEnv>,
  orb: string,
  id: string | undefined,
): Promise<Response> {
  c.set("route", resumableDefinitions[id === undefined ? "begin" : "append"].path);
  const method = methodOf(c);
  const allowed = id === undefined ? ["POST"] : ["HEAD", "PATCH", "DELETE"];
  if (!allowed.includes(method)) return wrongMethod(c, allowed);
  if (c.req.header("tus-resumable") !== VERSION)
    throw new AppError("precondition", "tus_version", `Tus-Resumable must be ${VERSION}.`);
  parametersOf(c, []);
  await requireUsable(c, orb);
  const upload: Resumable = { orb, authority: authorityOf(c, orb) };
  if (id === undefined) return begin(c, upload);
  if (method === "PATCH") return append(c, upload, id);
  if (method === "HEAD") return head(c, await uploadState(c.var.deps, upload, id));
  await endUpload(c.var.deps, upload, id);
  return completeResponse(c, null, 204, {});
}

const isPart = (c: Context<AppEnv>) => c.req.header("content-type")?.split(";", 1)[0]?.trim() === PART_TYPE;

function lengthOf(c: Context<AppEnv>): number | undefined {
  const length = c.req.header("content-length");
  return length === undefined ? undefined : Number(length);
}

function headersOf(orb: string, state: UploadState): Record<string, string> {
  const { id, offset, expires, done, name } = state;
  return {
    "upload-offset": String(offset),
    "upload-expires": new Date(expires).toUTCString(),
    ...(done === true ? { "content-location": fileUrl(orb, { id, name: safeName(name) }) } : {}),
  };
}

async function begin(c: Context<AppEnv>, upload: Resumable): Promise<Response> {
  const { deps } = c.var;
  const metadata = c.req.header("upload-metadata");
  const { filename, name = filename, filetype, type = filetype } = metadataIn(metadata);
  const size = wholeIn("Upload-Length", c.req.header("upload-length"));
  let state = await beginUpload(deps, { ...upload, size, name, type, metadata });
  const location = `/api/${upload.orb}/files/uploads/${state.id}`;
  if (isPart(c) && size > 0) {
    const part = { ...upload, id: state.id, offset: 0, body: bodyOf(c), length: lengthOf(c) };
    state = await appendUpload(deps, part);
  }
  return completeResponse(c, null, 201, { ...headersOf(upload.orb, state), location });
}

async function append(c: Context<AppEnv>, upload: Resumable, id: string): Promise<Response> {
  if (!isPart(c))
    throw new AppError("unsupported_media", "upload_media_type", `Content-Type must be ${PART_TYPE}.`);
  const offset = wholeIn("Upload-Offset", c.req.header("upload-offset"));
  const part = { ...upload, id, offset, body: bodyOf(c), length: lengthOf(c) };
  return completeResponse(c, null, 204, headersOf(upload.orb, await appendUpload(c.var.deps, part)));
}

function head(c: Context<AppEnv>, state: UploadState): Response {
  const { size, metadata } = state;
  return completeResponse(c, null, 200, {
    ...headersOf(c.req.param("orbId") ?? "", state),
    "upload-length": String(size),
    "cache-control": "no-store",
    ...(metadata === undefined ? {} : { "upload-metadata": metadata }),
  });
}
