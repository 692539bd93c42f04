/** Admin routes for JSON Schemas of messages and for module templates that several orbs (applications) share. */
import { z } from "@hono/zod-openapi";
import { MODULE_ID, ORB_ID } from "../../shared/definition/document/index.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import {
  type DefinitionView,
  deleteDefinition,
  getDefinition,
  listDefinitions,
  putDefinition,
} from "../../shared/library/definitions.ts";
import { DEFINITION_KINDS, moduleFrom } from "../../shared/library/shapes.ts";
import { ifMatch, revisionTag } from "../http/etag.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { IfMatch, json, jsonRequest, VersionTag } from "../http/schemas.ts";

const Kind = z
  .enum(DEFINITION_KINDS)
  .openapi({ description: "`messages`: schemas of handlers' messages; `modules`: module templates" });
const KindParam = z.object({ kind: Kind });
const Params = KindParam.extend({ id: z.string().openapi({ example: "blog" }) });

const DefinitionSchema = z
  .object({
    kind: Kind,
    id: z.string(),
    version: z.int(),
    at: z.iso.datetime(),
    by: z.string(),
    description: z.string(),
    schema: z.unknown().optional().openapi({ description: "JSON Schema (kind `messages`)" }),
    module: z.unknown().optional().openapi({ type: "object", description: "The module (kind `modules`)" }),
  })
  .openapi("Definition");

/** Only documents the body. `putDefinition` validates it, and reports all errors in one response. */
const DefinitionBody = z
  .looseObject({
    description: z.unknown().optional().openapi({ type: "string" }),
    schema: z.unknown().optional().openapi({ description: "JSON Schema (kind `messages`)" }),
    module: z.unknown().optional().openapi({
      type: "object",
      description:
        "A module as in an orb document. References to its own schemas name the orb `template`: `template/<module>/<schema>`",
    }),
  })
  .openapi("DefinitionBody", { additionalProperties: false });

const path = "/api/admin/definitions/{kind}/{id}" as const;
const reading = operatorRoute("Definitions", "registry.read");
const writing = operatorRoute("Definitions", "registry.write");

const list = defineRoute({
  ...reading,
  method: "get",
  path: "/api/admin/definitions/{kind}",
  operationId: "listDefinitions",
  summary: "List definitions of a kind",
  request: { params: KindParam },
  responses: { 200: json("All", z.array(DefinitionSchema)) },
  problems: [400, 401, 403, 422],
});
const get = defineRoute({
  ...reading,
  method: "get",
  path,
  operationId: "getDefinition",
  summary: "Get a definition",
  request: {
    params: Params,
    query: z.strictObject({
      version: z
        .string()
        .regex(/^[1-9]\d{0,8}$/)
        .optional()
        .openapi({ description: "An older version, also of a removed definition" }),
    }),
  },
  responses: { 200: json("The definition", DefinitionSchema, VersionTag) },
  problems: [400, 401, 403, 404],
});
const instance = defineRoute({
  ...reading,
  method: "get",
  path: "/api/admin/definitions/modules/{id}/module",
  operationId: "moduleFromTemplate",
  summary: "Create a module from a template",
  description:
    "Returns a module for `modules` of an orb document: its references point into the orb, and it has the requested id.",
  request: {
    params: z.object({ id: z.string() }),
    query: z.strictObject({
      orb: z.string().regex(ORB_ID).openapi({ description: "Id of the orb for the module", example: "shop" }),
      module: z
        .string()
        .regex(MODULE_ID)
        .optional()
        .openapi({ description: "Id of the module; the template's id by default", example: "news" }),
    }),
  },
  responses: { 200: json("The module", z.unknown().openapi({ type: "object" })) },
  problems: [400, 401, 403, 404],
});
const put = defineRoute({
  ...writing,
  method: "put",
  path,
  operationId: "putDefinition",
  summary: "Store a new version of a definition",
  request: {
    params: Params,
    headers: IfMatch,
    body: jsonRequest(DefinitionBody),
  },
  responses: {
    200: json("A new version", DefinitionSchema, VersionTag),
    201: json("Created", DefinitionSchema, VersionTag),
  },
  problems: [400, 401, 403, 404, 409, 412],
});
const remove = defineRoute({
  ...writing,
  method: "delete",
  path,
  operationId: "deleteDefinition",
  summary: "Remove a definition",
  description: "Orbs that contain a copy of the module do not change.",
  request: { params: Params, headers: IfMatch },
  responses: { 204: { description: "Removed" } },
  problems: [400, 401, 403, 404, 409, 412],
});

const wire = (view: DefinitionView): z.infer<typeof DefinitionSchema> => ({ ...view });

export function definitionRoutes() {
  return newRouter()
    .openapi(list, async (c) => {
      const all = await listDefinitions(c.var.deps, c.req.valid("param").kind);
      return c.json(all.map(wire), 200);
    })
    .openapi(instance, async (c) => {
      const { module } = await getDefinition(c.var.deps, "modules", c.req.valid("param").id);
      if (module === undefined) throw notFound("definition");
      return c.json(moduleFrom(module, c.req.valid("query")), 200);
    })
    .openapi(get, async (c) => {
      const { kind, id } = c.req.valid("param");
      const { version } = c.req.valid("query");
      const view = await getDefinition(
        c.var.deps,
        kind,
        id,
        version === undefined ? undefined : Number(version),
      );
      c.header("etag", revisionTag(view.version));
      return c.json(wire(view), 200);
    })
    .openapi(put, async (c) => {
      const { kind, id } = c.req.valid("param");
      const { definition, created } = await putDefinition(c.var.deps, c.var.actor, {
        kind,
        id,
        body: c.req.valid("json"),
        ifMatch: ifMatch(c.req.valid("header")["if-match"]),
      });
      c.header("etag", revisionTag(definition.version));
      return created ? c.json(wire(definition), 201) : c.json(wire(definition), 200);
    })
    .openapi(remove, async (c) => {
      const { kind, id } = c.req.valid("param");
      const expected = ifMatch(c.req.valid("header")["if-match"]);
      await deleteDefinition(c.var.deps, c.var.actor, kind, id, expected);
      return c.body(null, 204);
    });
}
