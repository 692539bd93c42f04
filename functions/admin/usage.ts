/** What is asked of an orb, what fails, what is slow, and how much it stores. */
import { z } from "@hono/zod-openapi";
import { USAGE_LIMITS } from "../../shared/usage/counts.ts";
import { readUsage } from "../../shared/usage/stored.ts";
import { type AdminPrefix, contentRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, OrbIdParam, wholeNumber } from "../http/schemas.ts";

const count = (description: string) => z.int().openapi({ description });
const at = z.iso.datetime().openapi({ description: "When the newest of them ended" });

const Usage = z
  .object({
    since: z.iso.datetime().openapi({ description: "Begin of the first hour" }),
    requests: count("Requests to the orb, and to the management API about it"),
    failed: count("Those that ended with a status from 400"),
    hours: z
      .array(
        z.object({
          at: z.iso.datetime().openapi({ description: "Begin of the hour" }),
          requests: z.int(),
          failed: z.int(),
        }),
      )
      .openapi({ description: "Hours with requests, the oldest first" }),
    errors: z
      .array(
        z.object({
          status: z.int().openapi({ example: 422 }),
          code: z.string().openapi({ example: "validation_failed" }),
          method: z.string(),
          route: z.string().openapi({ description: "Pattern of the route" }),
          count: z.int(),
          requestId: z.string().openapi({ description: "Of the newest of them, to find it in the logs" }),
          at,
        }),
      )
      .openapi({ description: "The most frequent first" }),
    lists: z
      .array(
        z.object({
          module: z.string(),
          schema: z.string(),
          conditions: z
            .array(z.object({ field: z.string(), operator: z.string() }))
            .openapi({ description: "What the list filters by, without values" }),
          sort: z.array(z.string()).openapi({ description: "Fields, with `-` for descending order" }),
          count: z.int(),
          read: z.int().openapi({ description: "Entries that these lists have read" }),
          at,
        }),
      )
      .openapi({
        description:
          "Lists that compared at least 200 entries one by one, because no index fits. Those that read most come first",
      }),
    storage: z.object({
      entries: count("Entries, including drafts and archived ones"),
      revisions: count("Revisions of entries, including those of deleted entries"),
      bytes: count("Bytes of all revisions and indexes"),
      fileBytes: count("Bytes of files"),
      bytesLimit: z.int().nullable().openapi({ description: "Null for no limit" }),
      fileBytesLimit: z.int().nullable(),
    }),
  })
  .openapi("Usage");

export function usageRoutes(prefix: AdminPrefix) {
  const route = defineRoute({
    ...contentRoute(prefix, "orbs.read"),
    method: "get",
    path: `${prefix}/{orbId}/usage` as const,
    operationId: "getUsage",
    summary: "Show requests, errors, slow lists and stored bytes of an orb",
    description:
      "Counts of the last hours, without values and texts of requests. Each process counts in memory, and stores its counts at most half a minute later. So the newest requests to other processes may be missing, and those of a process that was killed.",
    request: {
      params: OrbIdParam,
      query: z.strictObject({
        hours: wholeNumber(USAGE_LIMITS.hours)
          .default(24)
          .openapi({ description: "How many hours to count, with the current one", default: 24 }),
      }),
    },
    responses: { 200: json("The counts", Usage) },
    problems: [400, 401, 403, 404],
  });
  return newRouter().openapi(route, async (c) => {
    const { orbId: orb } = c.req.valid("param");
    const { hours } = c.req.valid("query");
    return c.json(await readUsage(c.var.deps, c.var.actor, { orb, hours }), 200);
  });
}
