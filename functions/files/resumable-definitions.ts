/** Defines the routes of resumable uploads (tus 1.0). */
import { z } from "@hono/zod-openapi";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute } from "../http/router.ts";
import { ANY_SESSION, header } from "../http/schemas.ts";

const path = "/api/{orbId}/files/uploads";
const common = { tags: ["Files"], security: [{}, ...ANY_SESSION], ...scopesFor("create") };
const OrbParam = z.object({ orbId: z.string() });
const UploadParams = OrbParam.extend({ uploadId: z.string().openapi({ description: "The upload's id" }) });
const Version = z.object({
  "tus-resumable": z.string().openapi({ description: "`1.0.0`", example: "1.0.0" }),
});
const PART = {
  "application/offset+octet-stream": { schema: z.string().openapi({ format: "binary" }) },
};
const answer = {
  "Tus-Resumable": header("`1.0.0`"),
  "Upload-Offset": header("Bytes that are stored"),
  "Upload-Expires": header("When the platform removes an upload that is not complete"),
  "Content-Location": header("Address of the file, once it is complete"),
};

export const resumableDefinitions = {
  begin: defineRoute({
    method: "post",
    path,
    operationId: "beginUpload",
    summary: "Begin a resumable upload",
    description:
      "Speaks the protocol tus 1.0. The upload's id becomes the id of the file. A body of the type `application/offset+octet-stream` is the first part.",
    ...common,
    request: {
      params: OrbParam,
      headers: Version.extend({
        "upload-length": z.string().openapi({ description: "Bytes of the whole file", example: "1048576" }),
        "upload-metadata": z.string().optional().openapi({
          description: "`filename` and `filetype`, each with its value in base64",
          example: "filename c3VuLnBuZw==,filetype aW1hZ2UvcG5n",
        }),
      }),
      body: { required: false, content: PART },
    },
    responses: {
      201: { description: "Begun", headers: { ...answer, Location: header("Address of the upload") } },
    },
    problems: [400, 401, 403, 404, 412, 413, 429, 507],
  }),
  state: defineRoute({
    method: "head",
    path: `${path}/{uploadId}`,
    operationId: "readUpload",
    summary: "Read how much of an upload is stored",
    ...common,
    request: { params: UploadParams, headers: Version },
    responses: {
      200: {
        description: "The state of the upload",
        headers: {
          ...answer,
          "Upload-Length": header("Bytes of the whole file"),
          "Upload-Metadata": header("As it was sent"),
        },
      },
    },
    problems: [401, 403, 404, 412],
  }),
  append: defineRoute({
    method: "patch",
    path: `${path}/{uploadId}`,
    operationId: "appendToUpload",
    summary: "Send the next part of an upload",
    description: "If a part breaks off, the platform stores what has arrived.",
    ...common,
    request: {
      params: UploadParams,
      headers: Version.extend({
        "upload-offset": z.string().openapi({ description: "Bytes that are stored", example: "0" }),
      }),
      body: { required: true, content: PART },
    },
    responses: { 204: { description: "Stored", headers: answer } },
    problems: [401, 403, 404, 409, 412, 413, 415, 429, 507],
  }),
  end: defineRoute({
    method: "delete",
    path: `${path}/{uploadId}`,
    operationId: "endUpload",
    summary: "End an upload, and remove what is stored of it",
    ...common,
    request: { params: UploadParams, headers: Version },
    responses: { 204: { description: "Ended. A file that is complete stays" } },
    problems: [401, 403, 404, 409, 412],
  }),
};
