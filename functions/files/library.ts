/**
 * The routes for the library of files: below `/api/{orbId}/files`, and their twins of the management API. The path of
 * one file below `/api/{orbId}/files` downloads it, so there `describe=true` asks for its description.
 */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import type { OrbContext } from "../../shared/entry/model/index.ts";
import { deleteFile, describeFile, requireDescribe, updateFile } from "../../shared/media/describe.ts";
import { listFiles, requireBrowse } from "../../shared/media/list.ts";
import { replaceFile } from "../../shared/media/replace.ts";
import { changeTag, listTags, tagFiles } from "../../shared/media/tags.ts";
import { definition } from "../admin/entry-schemas.ts";
import { readCursor, writeCursor } from "../http/cursors.ts";
import { ifMatch, revisionTag } from "../http/etag.ts";
import { innerRouter } from "../http/inner-router.ts";
import { type AdminPrefix, entryRoute, PREFIXES, scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { ANY_SESSION, IfMatch, json, jsonRequest, RevisionTag } from "../http/schemas.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import {
  FileChangeBody,
  LibraryFile,
  LibraryFileDetail,
  LibraryPage,
  LibraryQuery,
  ReplaceBody,
  ReplacedAnswer,
  TagChangeBody,
  TagFilesBody,
  TaggedAnswer,
  TagsAnswer,
} from "./library-schemas.ts";
import { parametersOf } from "./parameters.ts";

/** One of the places where the routes are: the API of an application, or the management API. */
interface Place {
  /** Path of all files. */
  path: `${"/api" | AdminPrefix}/{orbId}/files`;
  /** Suffix that makes operation ids unique. */
  suffix: "" | "Of";
  common: (operation: EntryOperation) => Pick<RouteConfig, "tags" | "security" | "middleware" | "hide">;
  inOrb: (c: Context<AppEnv>) => Promise<OrbContext>;
  renew?: (c: Context<AppEnv>) => Promise<OrbContext>;
  router: Router;
}

const Params = z.object({
  orbId: z.string().openapi({ param: { name: "orbId", in: "path" }, example: "shop" }),
});
const FileParams = Params.extend({
  fileId: z.string().openapi({ param: { name: "fileId", in: "path" }, description: "The file's id" }),
});
const READS = [400, 401, 403, 404] as const;
const WRITES = [401, 403, 404, 409, 412, 429, 507] as const;

function addList({ path, suffix, common, inOrb, router }: Place): void {
  const list = defineRoute({
    ...common("readDraft"),
    method: "get",
    path,
    operationId: `listFiles${suffix}`,
    summary: "List the files of an orb",
    description:
      "Those that were uploaded, used or changed last come first. Shows the files of entries whose drafts the caller may read, files that were kept, and the caller's own uploads.",
    request: { params: Params, query: LibraryQuery },
    responses: { 200: json("A page", LibraryPage) },
    problems: READS,
  });
  router.openapi(list, async (c) => {
    const { cursor, ...query } = c.req.valid("query");
    const before = readCursor("files", cursor);
    const { items, next } = await listFiles(c.var.deps, c.var.actor, await inOrb(c), { ...query, before });
    return c.json({ items: items.map(wire), nextCursor: writeCursor("files", next) }, 200);
  });
}

/** Copies a view, because responses may be changed. */
const wire = <T extends { tags: readonly string[]; alt: object; caption: object }>(view: T) => ({
  ...view,
  tags: [...view.tags],
  alt: { ...view.alt } as Record<string, string>,
  caption: { ...view.caption } as Record<string, string>,
});

function addTags({ path, suffix, common, inOrb, router }: Place): void {
  const tags = `${path}/tags` as const;
  const list = defineRoute({
    ...common("readDraft"),
    method: "get",
    path: tags,
    operationId: `listFileTags${suffix}`,
    summary: "List the tags of an orb's files",
    request: { params: Params },
    responses: { 200: json("The tags", TagsAnswer) },
    problems: READS,
  });
  const change = defineRoute({
    ...common("update"),
    method: "patch",
    path: tags,
    operationId: `changeFileTag${suffix}`,
    summary: "Rename a tag in all files, or remove it from all",
    description: "One write, however many files have the tag. Only for callers who may change all files.",
    request: { params: Params, body: jsonRequest(TagChangeBody) },
    responses: { 200: json("The tags", TagsAnswer) },
    problems: WRITES,
  });
  const several = defineRoute({
    ...common("update"),
    method: "patch",
    path,
    operationId: `tagFiles${suffix}`,
    summary: "Add tags to several files, and remove others",
    description:
      "Changes all files or none. They then stay until they are deleted, although no entry refers to them.",
    request: { params: Params, body: jsonRequest(TagFilesBody) },
    responses: { 200: json("The files", TaggedAnswer) },
    problems: WRITES,
  });
  router.openapi(list, async (c) =>
    c.json({ tags: await listTags(c.var.deps, c.var.actor, await inOrb(c)) }, 200),
  );
  router.openapi(change, async (c) => {
    const tags = await changeTag(c.var.deps, c.var.actor, await inOrb(c), c.req.valid("json"));
    return c.json({ tags }, 200);
  });
  router.openapi(several, async (c) => {
    const files = await tagFiles(c.var.deps, c.var.actor, await inOrb(c), c.req.valid("json"));
    return c.json({ items: files.map(wire) }, 200);
  });
}

function addChanges({ path, suffix, common, inOrb, renew, router }: Place): void {
  const one = `${path}/{fileId}` as const;
  const update = defineRoute({
    ...common("update"),
    method: "patch",
    path: one,
    operationId: `updateFile${suffix}`,
    summary: "Change the description of a file",
    description:
      "A JSON Merge Patch. From the first change on, even an empty one, the file stays until it is deleted, although no entry refers to it.",
    request: { params: FileParams, headers: IfMatch, body: jsonRequest(FileChangeBody) },
    responses: { 200: json("The file", LibraryFile, RevisionTag) },
    problems: WRITES,
  });
  const remove = defineRoute({
    ...common("delete"),
    method: "delete",
    path: one,
    operationId: `deleteFile${suffix}`,
    summary: "Delete a file that no entry has",
    description: "409 `file_in_use` if a revision of an entry refers to the file.",
    request: { params: FileParams, headers: IfMatch },
    responses: { 204: { description: "Deleted" } },
    problems: [400, ...WRITES],
  });
  const replace = defineRoute({
    ...common("update"),
    method: "post",
    path: `${one}/replace`,
    operationId: `replaceFile${suffix}`,
    summary: "Replace a file by another one in all entries",
    description:
      "Writes a new revision of each entry whose newest revision has the file, all or none, and publishes those that were live without a draft. Older revisions keep the file. The new file gets the texts and tags of the old one, unless it has some.",
    request: { params: FileParams, headers: IfMatch, body: jsonRequest(ReplaceBody) },
    responses: { 200: json("Replaced", ReplacedAnswer) },
    problems: [...WRITES, 410, 502],
  });
  router.openapi(update, async (c) => {
    const target = { id: c.req.valid("param").fileId, ifMatch: ifMatch(c.req.valid("header")["if-match"]) };
    const patch = c.req.valid("json");
    const file = await updateFile(c.var.deps, c.var.actor, await inOrb(c), target, patch);
    c.header("etag", revisionTag(file.revision));
    return c.json(wire(file), 200);
  });
  router.openapi(remove, async (c) => {
    const target = { id: c.req.valid("param").fileId, ifMatch: ifMatch(c.req.valid("header")["if-match"]) };
    await deleteFile(c.var.deps, c.var.actor, await inOrb(c), target);
    return c.body(null, 204);
  });
  router.openapi(replace, async (c) => {
    const target = {
      id: c.req.valid("param").fileId,
      ifMatch: ifMatch(c.req.valid("header")["if-match"]),
      by: c.req.valid("json").by,
      renew: renew === undefined ? undefined : () => renew(c),
    };
    const { file, changed, left } = await replaceFile(c.var.deps, c.var.actor, await inOrb(c), target);
    return c.json({ file: wire(file), changed, left }, 200);
  });
}

/** The routes of the management API. */
export function adminFileRoutes() {
  const router = newRouter();
  for (const prefix of PREFIXES) {
    const inOrb = async (c: Context<AppEnv>) => definition(c, c.req.param("orbId") ?? "");
    const path = `${prefix}/{orbId}/files` as const;
    const common = (operation: EntryOperation) => ({ ...entryRoute(prefix, operation), tags: ["Files"] });
    const place: Place = { path, suffix: "", common, inOrb, router };
    addList(place);
    addTags(place);
    const get = defineRoute({
      ...common("readDraft"),
      method: "get",
      path: `${path}/{fileId}`,
      operationId: "describeFile",
      summary: "Describe a file",
      request: { params: FileParams },
      responses: { 200: json("The file", LibraryFileDetail, RevisionTag) },
      problems: READS,
    });
    router.openapi(get, async (c) => {
      const { fileId } = c.req.valid("param");
      const file = await describeFile(c.var.deps, c.var.actor, await inOrb(c), fileId);
      c.header("etag", revisionTag(file.revision));
      return c.json({ ...wire(file), usedIn: file.usedIn }, 200);
    });
    addChanges(place);
  }
  return router;
}

function orbFiles() {
  const { router, handedTo, hand } = innerRouter<LiveOrb>();
  const place: Place = {
    path: "/api/{orbId}/files",
    suffix: "Of",
    common: (operation) => ({
      ...{ tags: ["Files"], security: ANY_SESSION, "x-role": "user" },
      ...scopesFor(operation),
      // Refuses callers without rights in the library before their parameters and bodies are checked.
      middleware: [
        async (c: Context<AppEnv>, next) => {
          const require = operation === "readDraft" ? requireBrowse : requireDescribe;
          require(c.var.actor, handedTo(c));
          await next();
        },
      ],
    }),
    inOrb: async (c) => handedTo(c),
    renew: (c) => requireLive(c.var.deps, handedTo(c).orb),
    router,
  };
  addList(place);
  addTags(place);
  addChanges(place);
  return { router, hand };
}

/** The routes of published applications. */
export const library = orbFiles();

/** Serves the description of one file of a published application. */
export async function describe(
  c: Context<AppEnv>,
  live: LiveOrb,
  id: string,
  actor: Actor,
): Promise<Response> {
  parametersOf(c, ["describe"]);
  const file = await describeFile(c.var.deps, actor, live, id);
  return completeResponse(c, JSON.stringify(file), 200, {
    "content-type": "application/json",
    "cache-control": "no-store",
    etag: revisionTag(file.revision),
  });
}
