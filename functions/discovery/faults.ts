/** Lists stored data that the platform cannot read, or has lost. */
import { z } from "@hono/zod-openapi";
import { knownLosses } from "../../shared/definition/stored/index.ts";
import { lossRemedy } from "../../shared/discovery/losses.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { isFaulty } from "../../shared/handlers/contract/index.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { operatorRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";

const StoredFault = z
  .object({
    kind: z.enum(["orb", "handler", "stream"]),
    id: z.string().openapi({ example: "shop" }),
    codes: z.array(z.string()).openapi({ example: ["not_json"] }),
    says: z.string().optional().openapi({ description: "What a stream has lost" }),
    remedy: z.string(),
  })
  .openapi("StoredFault");

const route = defineRoute({
  ...operatorRoute("Discovery", "registry.read"),
  method: "get",
  path: "/api/admin/faults",
  operationId: "listFaults",
  summary: "List data that the platform cannot use, and lost data",
  description:
    "Lists live definitions of orbs, and registrations of handlers, that the platform cannot use, and streams that have lost messages. All other orbs and handlers work.",
  responses: { 200: json("All", z.array(StoredFault)) },
  problems: [400, 401, 403],
});

export function faultRoutes(published: PublishedOrbs) {
  return newRouter().openapi(route, async (c) => {
    const { deps } = c.var;
    const [damaged, handlers, losses] = await Promise.all([
      published.damaged(deps),
      listHandlers(deps),
      knownLosses(deps),
    ]);
    return c.json(
      [
        ...damaged.map(({ orb, reason, at }) => ({
          kind: "orb" as const,
          id: orb,
          codes: [at === undefined ? reason : `${at} ${reason}`],
          remedy:
            reason === "newer_version"
              ? "A newer version of the platform stored this definition. Start that version again."
              : `Send GET /api/admin/orbs/${orb}: it restores the definition from the orb's history.`,
        })),
        ...handlers.filter(isFaulty).map(({ name, faults }) => ({
          kind: "handler" as const,
          id: name,
          codes: faults.map(({ path, code }) => `${path} ${code}`.trim()),
          remedy: "Restart the service so that it registers the handler again.",
        })),
        ...losses.map((loss) => ({
          kind: "stream" as const,
          id: loss.stream,
          codes: ["messages_lost"],
          says: `Sequences ${loss.from} to ${loss.to}: ${loss.says} Found at ${loss.at}.`,
          remedy: lossRemedy(loss),
        })),
      ],
      200,
    );
  });
}
