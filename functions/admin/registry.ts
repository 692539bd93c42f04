/** Lists all handlers, shows whether a running service provides each of them, and removes registrations. */
import { z } from "@hono/zod-openapi";
import { ACTS } from "../../shared/definition/document/index.ts";
import {
  capturingStreams,
  HANDLER_AUTH,
  HANDLER_KINDS,
  type HandlerDeps,
  isFaulty,
  isRemote,
} from "../../shared/handlers/contract/index.ts";
import { respondingSubjects } from "../../shared/handlers/presence.ts";
import { capturedFault, listHandlers, subjectsOf } from "../../shared/handlers/registry.ts";
import { removeHandler } from "../../shared/handlers/remove.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { FaultSchema, json } from "../http/schemas.ts";

const schema = z.unknown().optional();
const RegistrySchema = z
  .object({
    name: z.string().openapi({ description: "<service>.<handler>", example: "pricing.quote" }),
    description: z.string().optional(),
    auth: z.enum(HANDLER_AUTH).optional(),
    kind: z.enum(HANDLER_KINDS).openapi({ description: "`nats`: a remote service on the broker" }),
    subject: z.string().optional().openapi({ description: "Subject of a remote service" }),
    timeoutMs: z.int().optional(),
    paths: z
      .union([z.array(z.string()), z.record(z.string(), z.unknown())])
      .optional()
      .openapi({
        description:
          "Routes of an HTTP handler: of a built-in one below /api/{orbId}; of a service OpenAPI path items below the handler",
      }),
    headers: z
      .array(z.string())
      .optional()
      .openapi({ description: "Further request headers that the service of an HTTP handler gets" }),
    maxBodyBytes: z.int().optional().openapi({ description: "Maximum bytes of a body for an HTTP handler" }),
    methods: z
      .array(z.string())
      .optional()
      .openapi({ description: "Methods of these routes; GET by default" }),
    acts: z
      .array(z.enum(ACTS))
      .optional()
      .openapi({ description: "Acts that the handler requests: operations for its callers" }),
    act: z
      .enum(ACTS)
      .optional()
      .openapi({ description: "Act that another handler needs to call this one for its caller" }),
    input: schema.openapi({ description: "JSON Schema of the input" }),
    output: schema.openapi({ description: "JSON Schema of the output" }),
    status: z.enum(["available", "absent", "unknown", "faulty"]).openapi({
      description:
        "`available`: built in, or a service is listening on the subject; `absent`: no service is listening; `faulty`: the registration is invalid and ignored, or a stream captures its subject",
    }),
    faults: z.array(FaultSchema).optional().openapi({ description: "Faults of an invalid registration" }),
  })
  .openapi("RegistryEntry");

const common = {
  method: "get" as const,
  ...operatorRoute("Handlers", "registry.read"),
  responses: { 200: json("Handlers in order of their names", z.array(RegistrySchema)) },
};
const all = defineRoute({
  ...common,
  path: "/api/admin/registry",
  operationId: "listHandlers",
  summary: "List all registered handlers",
  problems: [401, 403],
});
const ofService = defineRoute({
  ...common,
  path: "/api/admin/registry/{service}",
  operationId: "listHandlersOfService",
  summary: "List handlers of one service",
  request: { params: z.object({ service: z.string().openapi({ example: "pricing" }) }) },
  problems: [401, 403, 404],
});
const remove = defineRoute({
  ...operatorRoute("Handlers", "registry.write"),
  method: "delete",
  path: "/api/admin/registry/{service}/{handler}",
  operationId: "removeHandler",
  summary: "Remove the registration of a handler",
  description:
    "Orbs that use the handler answer 503 `handler_unavailable` on its routes until a service registers it again. Built-in handlers cannot be removed.",
  request: {
    params: z.object({
      service: z.string().openapi({ example: "pricing" }),
      handler: z.string().openapi({ example: "quote" }),
    }),
  },
  responses: { 204: { description: "Removed" } },
  problems: [401, 403, 404, 409],
});

async function registry(deps: HandlerDeps, service?: string): Promise<z.infer<typeof RegistrySchema>[]> {
  const entries = await listHandlers(deps, service);
  const remote = subjectsOf(entries);
  const [answering, captured] = await Promise.all([
    respondingSubjects(deps, remote),
    capturingStreams(deps.store, remote),
  ]);
  return entries.map((entry) => {
    if (isFaulty(entry)) return { ...entry, kind: "nats" as const, status: "faulty" as const };
    if (entry.kind === "local") {
      const { run: _, ...told } = entry;
      return { ...told, status: "available" as const };
    }
    if (!isRemote(entry)) return { ...entry, status: "available" as const };
    const stream = captured.get(entry.subject);
    if (stream !== undefined)
      return { ...entry, status: "faulty" as const, faults: [capturedFault("/subject", entry, stream)] };
    const listens = answering.get(entry.subject);
    const status = listens === true ? "available" : listens === false ? "absent" : "unknown";
    return { ...entry, status } as const;
  });
}

export function registryRoutes() {
  return newRouter()
    .openapi(all, async (c) => c.json(await registry(c.var.deps), 200))
    .openapi(ofService, async (c) => {
      const entries = await registry(c.var.deps, c.req.valid("param").service);
      if (entries.length === 0) throw notFound("service", "No handler of this service is registered.");
      return c.json(entries, 200);
    })
    .openapi(remove, async (c) => {
      const { service, handler } = c.req.valid("param");
      await removeHandler(c.var.deps, c.var.actor, `${service}.${handler}`);
      return c.body(null, 204);
    });
}
