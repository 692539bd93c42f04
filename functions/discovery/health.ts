import { z } from "@hono/zod-openapi";
import type { Deps } from "../../shared/deps.ts";
import { brokersBehind } from "../../shared/discovery/copies.ts";
import { lossReports } from "../../shared/discovery/losses.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { requireReady } from "../../shared/discovery/readiness.ts";
import { requireWritable } from "../../shared/discovery/writable.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";
import { UnusableOrbSchema } from "./overview-schemas.ts";

const HealthSchema = z
  .object({
    status: z
      .enum(["ok", "damaged"])
      .openapi({ description: "`damaged`: stored data was lost, and `losses` says where" }),
    version: z.string().openapi({ description: "Version of the platform", example: "0.2.0" }),
    time: z.iso.datetime().openapi({ description: "Clock of the host that answers" }),
    broker: z
      .object({
        version: z.string().openapi({ example: "2.15.1" }),
        roundTripMs: z.number().openapi({ description: "Round trip to the broker in milliseconds" }),
      })
      .optional()
      .openapi({ description: "Not present with `probe=live`" }),
    losses: z
      .array(
        z.object({
          stream: z.string().optional().openapi({ description: "Missing if the orb is not published" }),
          orb: z
            .string()
            .optional()
            .openapi({ description: "The orb of the stream, if it is published", example: "shop" }),
          from: z.int().openapi({ description: "First sequence number concerned" }),
          to: z.int().openapi({ description: "Last sequence number concerned" }),
          since: z.iso.datetime().openapi({ description: "When the loss was found" }),
          writable: z.boolean().openapi({
            description:
              "Whether the orb can be written: all revisions are there, and other messages are missing, such as those of an index",
          }),
          remedy: z.string(),
        }),
      )
      .optional()
      .openapi({ description: "Losses of stored data about which no operator has decided" }),
    warnings: z
      .array(
        z.object({
          code: z.literal("broker_behind"),
          broker: z.string().openapi({ description: "Name of the broker in its cluster", example: "n3" }),
          remedy: z.string(),
        }),
      )
      .optional()
      .openapi({
        description:
          "Brokers of a cluster that are away, far behind, or cannot write. Requests are served, but a further fault can stop them. Not present with `probe=live` and `probe=read`",
      }),
    unusableOrbs: z.array(UnusableOrbSchema).optional().openapi({
      description:
        "Published orbs whose stored definition is damaged, or comes from a newer version of the platform. Their routes are 503, all other orbs work. Each request finds up to 32 of them for the next one.",
    }),
  })
  .openapi("Health");

const health = defineRoute({
  method: "get",
  path: "/api/health",
  operationId: "getHealth",
  summary: "Check whether the platform is ready",
  description:
    "503 while the broker cannot be reached, is cut off from the rest of its cluster, or stores no data. 200 with the status `damaged` while stored data is lost: the other orbs work. 200 with `warnings` while one of three brokers is away, or has a full disk. `probe=read` does not check that it stores data: a proxy that uses this probe still serves reads when writes fail. `probe=live` only checks that the process responds.",
  tags: ["Discovery"],
  security: [],
  request: { query: z.strictObject({ probe: z.enum(["ready", "read", "live"]).optional() }) },
  responses: { 200: json("Ready", HealthSchema) },
  problems: [400],
});

const BEHIND =
  "See whether this broker runs, and whether its disk is full: its log says so. npm run doctor names the streams.";

/** Definitions that one request compiles, in the background, to find those that cannot be used. */
const COMPILED = 32;

async function unusableOrbs(deps: Deps, published: PublishedOrbs) {
  const known = await published.knownDamaged(deps);
  deps.afterwards(published.damaged(deps, COMPILED));
  return known.map(({ orb, reason }) => ({ id: orb, reason }));
}

export function healthRoutes(published: PublishedOrbs) {
  return newRouter().openapi(health, async (c) => {
    const { deps } = c.var;
    const { probe } = c.req.valid("query");
    const time = new Date(deps.clock.now()).toISOString();
    const own = { status: "ok" as const, version: VERSION, time };
    if (probe === "live") return c.json(own, 200);
    const { version } = await deps.store.server();
    const [roundTripMs, losses, behind] = await Promise.all([
      requireReady(deps),
      lossReports(deps),
      probe === "read" ? [] : brokersBehind(deps),
      probe === "read" ? undefined : requireWritable(deps),
    ]);
    const damage = losses.length === 0 ? {} : { status: "damaged" as const, losses };
    const unusable = probe === "read" ? [] : await unusableOrbs(deps, published);
    const orbs = unusable.length === 0 ? {} : { unusableOrbs: unusable };
    const warnings = behind.map((broker) => ({ code: "broker_behind" as const, broker, remedy: BEHIND }));
    const warned = warnings.length === 0 ? {} : { warnings };
    return c.json({ ...own, ...damage, broker: { version, roundTripMs }, ...warned, ...orbs }, 200);
  });
}
