/** Defines the routes for files, and the schemas of their responses. */
import { z } from "@hono/zod-openapi";
import { LINK_SECONDS } from "../../shared/files/links.ts";
import { FITS, FORMATS } from "../../shared/images/variant.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute } from "../http/router.ts";
import { ANY_SESSION, header, IfNoneMatch, json, jsonRequest, Location } from "../http/schemas.ts";
import { LibraryFileDetail } from "./library-schemas.ts";

const FileSchema = z
  .object({
    id: z.string().openapi({ description: 'Store it in an entry: `{ "file": "<id>" }`' }),
    size: z.int().openapi({ description: "Bytes" }),
    type: z.string().openapi({ description: "Media type, found in the content", example: "image/png" }),
    sha256: z.string().openapi({ description: "Hexadecimal" }),
    name: z.string(),
    width: z.int().optional().openapi({ description: "Of an image, as shown" }),
    height: z.int().optional().openapi({ description: "Of an image, as shown" }),
    color: z.string().optional().openapi({
      description: "Main colour of an image, if the orb has variants",
      example: "#1f2a30",
    }),
    animated: z.boolean().optional().openapi({ description: "`true` for an image with several frames" }),
  })
  .openapi("File");

const LinkSchema = z
  .object({ url: z.string(), expiresAt: z.string().openapi({ format: "date-time" }) })
  .openapi("FileLink");

const common = { tags: ["Files"], security: [{}, ...ANY_SESSION] };
const path = "/api/{orbId}/files";
const OrbParam = z.object({ orbId: z.string() });
const FileParams = OrbParam.extend({ fileId: z.string().openapi({ description: "The file's id" }) });
const BINARY = z.string().openapi({ format: "binary" });

const DownloadQuery = z.strictObject({
  download: z.enum(["true", "false"]).optional().openapi({
    description: "`true`: the browser saves the file instead of showing it",
  }),
  describe: z.enum(["true", "false"]).optional().openapi({
    description:
      "`true`: the description of the file instead of its content, for callers who may list the files. Takes no other parameter",
  }),
  expires: z.string().optional().openapi({ description: "Of a signed link" }),
  signature: z.string().optional().openapi({ description: "Of a signed link" }),
  w: z.string().optional().openapi({ description: "Width of a variant that the field lists" }),
  h: z.string().optional().openapi({ description: "Height of a variant" }),
  fit: z.enum(FITS).optional().openapi({ description: "Of a variant; default `contain`" }),
  format: z.enum(FORMATS).optional().openapi({ description: "Of a variant; default `webp`" }),
});
const DownloadHeaders = IfNoneMatch.extend({
  range: z.string().optional().openapi({ description: "One range, such as `bytes=0-1023`" }),
  "if-range": z.string().optional().openapi({ description: "ETag: sends the whole file if it is another" }),
});
const content = {
  headers: {
    ETag: header("Strong; made of the content's SHA-256"),
    "Accept-Ranges": header("`bytes`"),
    "Content-Disposition": header("`inline` or `attachment`, and the file's name"),
  },
  content: { "application/octet-stream": { schema: BINARY } },
};
const responses = {
  200: {
    description: "The content, with its own media type",
    headers: content.headers,
    content: { ...content.content, "application/json": { schema: LibraryFileDetail } },
  },
  206: { description: "A part of the content", ...content },
  304: { description: "The content has not changed" },
  416: { description: "The file has none of the bytes. `Content-Range` has its size" },
};

export const fileDefinitions = {
  upload: defineRoute({
    method: "post",
    path,
    operationId: "uploadFile",
    summary: "Upload a file",
    description:
      "The body is the content. The file belongs to its uploader until an entry refers to it, and is removed after a day if none does.",
    ...common,
    ...scopesFor("create"),
    request: {
      params: OrbParam,
      query: z.strictObject({
        name: z.string().optional().openapi({ description: "File name, instead of `Content-Disposition`" }),
      }),
      headers: z.object({
        "content-digest": z.string().optional().openapi({
          description: "SHA-256 of the body (RFC 9530). Another body is rejected",
          example: "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
        }),
      }),
      body: { required: true, content: { "application/octet-stream": { schema: BINARY } } },
    },
    responses: { 201: json("Uploaded", FileSchema, Location) },
    problems: [400, 401, 403, 404, 413, 429, 507],
  }),
  download: defineRoute({
    method: "get",
    path: `${path}/{fileId}`,
    operationId: "downloadFile",
    summary: "Download a file",
    ...common,
    ...scopesFor("read"),
    request: { params: FileParams, query: DownloadQuery, headers: DownloadHeaders },
    responses,
    problems: [400, 401, 403, 404, 422, 503],
  }),
  downloadNamed: defineRoute({
    method: "get",
    path: `${path}/{fileId}/{name}`,
    operationId: "downloadNamedFile",
    summary: "Download a file by an address with its name",
    ...common,
    ...scopesFor("read"),
    request: {
      params: FileParams.extend({ name: z.string().openapi({ description: "For people; any text" }) }),
      query: DownloadQuery,
      headers: DownloadHeaders,
    },
    responses,
    problems: [400, 401, 403, 404, 422, 503],
  }),
  link: defineRoute({
    method: "post",
    path: `${path}/{fileId}/links`,
    operationId: "createFileLink",
    summary: "Create a signed link to a file",
    description: "Anyone who has the link can download the file until the link expires.",
    ...common,
    ...scopesFor("read"),
    request: {
      params: FileParams,
      body: jsonRequest(
        z
          .strictObject({
            seconds: z
              .int()
              .min(LINK_SECONDS.min)
              .max(LINK_SECONDS.max)
              .default(LINK_SECONDS.default)
              .openapi({ description: "Lifetime of the link" }),
          })
          .openapi("FileLinkInput"),
        false,
      ),
    },
    responses: { 201: json("Created", LinkSchema) },
    problems: [401, 403, 404],
  }),
};
