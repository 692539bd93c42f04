import { z } from "@hono/zod-openapi";
import { defineRoute, newRouter } from "../router.ts";

const HealthSchema = z
  .object({
    status: z.literal("ok"),
    broker: z.object({ version: z.string(), roundTripMs: z.number() }),
  })
  .openapi("Health");

const health = defineRoute({
  method: "get",
  path: "/api/health",
  operationId: "getHealth",
  summary: "Whether the platform is ready",
  tags: ["Discovery"],
  security: [],
  responses: { 200: { description: "Ready", content: { "application/json": { schema: HealthSchema } } } },
});

/** E: /api/health. 503 while the broker is away. */
export function healthRoutes() {
  return newRouter().openapi(health, async (c) => {
    const { store } = c.var.deps;
    const broker = await store.server();
    const roundTripMs = await store.ping();
    return c.json({ status: "ok" as const, broker: { version: broker.version, roundTripMs } }, 200);
  });
}
