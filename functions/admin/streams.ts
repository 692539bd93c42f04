/** Admin routes that publish a broker stream under a public name. */
import { z } from "@hono/zod-openapi";
import { deleteMapping, getMapping, listMappings, putMapping } from "../../shared/streams/mappings/index.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";

const MappingObject = z.strictObject({
  stream: z.string().openapi({ description: "Name of the broker stream", example: "øshop" }),
  subjectFilter: z.string().openapi({
    description: "Subjects to deliver. The token `{userID}` is replaced with the caller's id.",
    example: "shop.*.public.>",
  }),
  description: z.string().max(1000).default(""),
  read: z.enum(["public", "user"]).default("user").openapi({
    description:
      "`public` also admits readers without a session. Only for the stream of an orb, with a filter without `{userID}`",
  }),
});

/**
 * The specification capitalises these names, so both spellings are accepted. A body with both gets
 * `unknown_property`.
 */
const MappingBody = z
  .preprocess((body) => {
    if (typeof body !== "object" || body === null) return body;
    const lower = (name: string) => {
      const plain = name.slice(0, 1).toLowerCase() + name.slice(1);
      return Object.hasOwn(MappingObject.shape, plain) && !Object.hasOwn(body, plain) ? plain : name;
    };
    return Object.fromEntries(Object.entries(body).map(([name, value]) => [lower(name), value]));
  }, MappingObject)
  .openapi("StreamMappingBody");

const MappingSchema = z
  .object({
    name: z.string(),
    stream: z.string(),
    subjectFilter: z.string(),
    description: z.string(),
    read: z.enum(["public", "user"]),
  })
  .openapi("StreamMapping");

const path = "/api/admin/streams/{name}" as const;
const reading = operatorRoute("Streams", "streams.read");
const writing = operatorRoute("Streams", "streams.write");
const params = z.object({ name: z.string().openapi({ example: "shop-live" }) });

const list = defineRoute({
  ...reading,
  method: "get",
  path: "/api/admin/streams",
  operationId: "listStreamMappings",
  summary: "List stream mappings",
  responses: { 200: json("All", z.array(MappingSchema)) },
  problems: [401, 403],
});

const get = defineRoute({
  ...reading,
  method: "get",
  path,
  operationId: "getStreamMapping",
  summary: "Get a stream mapping",
  request: { params },
  responses: { 200: json("The mapping", MappingSchema) },
  problems: [401, 403, 404],
});

const put = defineRoute({
  ...writing,
  method: "put",
  path,
  operationId: "putStreamMapping",
  summary: "Create or replace a stream mapping",
  description:
    "A mapping cannot name internal streams and buckets of the platform. For an orb's stream, it can only select public subjects: `<orb>.*.public.>`.",
  request: { params, body: jsonRequest(MappingBody) },
  responses: {
    200: json("Replaced", MappingSchema),
    201: json("Created", MappingSchema),
  },
  problems: [401, 403, 404],
});

const remove = defineRoute({
  ...writing,
  method: "delete",
  path,
  operationId: "deleteStreamMapping",
  summary: "Remove a stream mapping",
  request: { params },
  responses: { 204: { description: "Removed" } },
  problems: [401, 403, 404],
});

export function streamMappingRoutes() {
  return newRouter()
    .openapi(list, async (c) => c.json(await listMappings(c.var.deps.store), 200))
    .openapi(get, async (c) => c.json(await getMapping(c.var.deps.store, c.req.valid("param").name), 200))
    .openapi(put, async (c) => {
      const { name } = c.req.valid("param");
      const { mapping, created } = await putMapping(c.var.deps, c.var.actor, name, c.req.valid("json"));
      return created ? c.json(mapping, 201) : c.json(mapping, 200);
    })
    .openapi(remove, async (c) => {
      await deleteMapping(c.var.deps, c.var.actor, c.req.valid("param").name);
      return c.body(null, 204);
    });
}
