import { z } from "@hono/zod-openapi";
import { requireReady } from "../../shared/discovery/readiness.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";

const HealthSchema = z
  .object({
    status: z.literal("ok"),
    version: z.string().openapi({ description: "Version of the platform", example: "0.1.0" }),
    time: z.iso.datetime().openapi({ description: "Clock of the host that answers" }),
    broker: z
      .object({
        version: z.string().openapi({ example: "2.15.1" }),
        roundTripMs: z.number().openapi({ description: "Round trip to the broker in milliseconds" }),
      })
      .optional()
      .openapi({ description: "Not present with `probe=live`" }),
  })
  .openapi("Health");

const health = defineRoute({
  method: "get",
  path: "/api/health",
  operationId: "getHealth",
  summary: "Check whether the platform is ready",
  description:
    "503 while the broker cannot be reached, or is cut off from the rest of its cluster. `probe=live` only checks that the process responds.",
  tags: ["Discovery"],
  security: [],
  request: { query: z.strictObject({ probe: z.enum(["ready", "live"]).optional() }) },
  responses: { 200: json("Ready", HealthSchema) },
  problems: [400],
});

export function healthRoutes() {
  return newRouter().openapi(health, async (c) => {
    const time = new Date(c.var.deps.clock.now()).toISOString();
    const own = { status: "ok" as const, version: VERSION, time };
    if (c.req.valid("query").probe === "live") return c.json(own, 200);
    const { version } = await c.var.deps.store.server();
    const roundTripMs = await requireReady(c.var.deps);
    return c.json({ ...own, broker: { version, roundTripMs } }, 200);
  });
}
