/** Lists stored data that the platform cannot read. */
import { z } from "@hono/zod-openapi";
import { liveDefinitions } from "../../shared/definition/stored/live.ts";
import { isFaulty } from "../../shared/handlers/contract/entry.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";

const StoredFault = z
  .object({
    kind: z.enum(["orb", "handler"]),
    id: z.string().openapi({ example: "shop" }),
    codes: z.array(z.string()).openapi({ example: ["not_json"] }),
    remedy: z.string(),
  })
  .openapi("StoredFault");

const route = defineRoute({
  ...operatorRoute("Discovery", "registry.read"),
  method: "get",
  path: "/api/admin/faults",
  operationId: "listFaults",
  summary: "List damaged stored definitions",
  description:
    "Lists live definitions of orbs, and registrations of handlers, that the platform cannot use. All other orbs and handlers work.",
  responses: { 200: json("All", z.array(StoredFault)) },
  problems: [400, 401, 403],
});

export function faultRoutes() {
  return newRouter().openapi(route, async (c) => {
    const [{ damaged }, handlers] = await Promise.all([
      liveDefinitions(c.var.deps),
      listHandlers(c.var.deps),
    ]);
    return c.json(
      [
        ...damaged.map(({ orb, reason }) => ({
          kind: "orb" as const,
          id: orb,
          codes: [reason],
          remedy: `Send GET /api/admin/orbs/${orb}: it restores the definition from the orb's history.`,
        })),
        ...handlers.filter(isFaulty).map(({ name, faults }) => ({
          kind: "handler" as const,
          id: name,
          codes: faults.map(({ path, code }) => `${path} ${code}`.trim()),
          remedy: "Restart the service so that it registers the handler again.",
        })),
      ],
      200,
    );
  });
}
