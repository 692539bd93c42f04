/** Routes that list and retry calls of after-write hooks and schedules, and create webhook secrets. */

import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/index.ts";
import {
  DELIVERY_STATUS,
  listDeliveries,
  listSchedules,
  readBacklog,
  redeliver,
  renewSecret,
} from "../../shared/hooks/after/index.ts";
import { readPlace, writePlace } from "../http/cursors.ts";
import { type AdminPrefix, adminRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { Cursor, json, Limit, OrbIdParam } from "../http/schemas.ts";
import { createsCredential } from "../middleware/origin.ts";

const DeliverySchema = z
  .object({
    id: z.string().openapi({ example: "notify.1342" }),
    hook: z.string().openapi({ description: "Id of the hook or of the schedule" }),
    status: z.enum(DELIVERY_STATUS).openapi({
      description:
        "`waiting`: another attempt follows, or an earlier revision of the entry waits; `failed`: given up after the last attempt",
    }),
    event: z.string().nullable().openapi({ description: "Null while the delivery waits" }),
    module: z.string().nullable(),
    schema: z.string().nullable(),
    entry: z.string().nullable().openapi({
      description: "Id of the entry. For a call of a schedule, id, module, schema and revision are null",
    }),
    revision: z.int().nullable(),
    change: z.string().nullable().openapi({
      description: "Id of the change set, for its events. Id of the entry, module and schema are then null",
    }),
    attempts: z.int(),
    at: z.iso.datetime().openapi({ description: "When it ended, or when the next attempt follows" }),
    error: z.string().nullable().openapi({ description: "Why the last attempt failed" }),
  })
  .openapi("Delivery");

const PageSchema = z
  .object({
    items: z.array(DeliverySchema),
    nextCursor: z.string().nullable(),
    backlog: z
      .object({
        count: z.int(),
        oldest: z.iso.datetime().nullable().openapi({ description: "When the oldest became due" }),
      })
      .optional()
      .openapi({
        description:
          "Deliveries that are not made yet, also those that no process has looked at. Only on the first page",
      }),
    worker: z.enum(["running", "absent", "unneeded"]).openapi({
      description:
        "Whether a hooks process runs. Without one, deliveries wait. `unneeded`: the orb has no hooks after writes, no schedules and nothing that waits.",
    }),
  })
  .openapi("Deliveries");

const SecretSchema = z
  .object({ secret: z.string().openapi({ description: "`whsec_` and 32 bytes in base64" }) })
  .openapi("WebhookSecret");

const ScheduleRunSchema = z
  .object({
    due: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "When it was due; null if that is no longer stored" }),
    status: z.enum(DELIVERY_STATUS),
    attempts: z.int(),
    at: z.iso.datetime().openapi({ description: "When it ended, or when the next attempt follows" }),
    error: z.string().nullable().openapi({ description: "Why the last attempt failed" }),
  })
  .openapi("ScheduleRun");

const SchedulesSchema = z
  .object({
    items: z.array(
      z
        .object({
          id: z.string().openapi({ example: "nightly" }),
          cron: z.string().openapi({ example: "0 30 9 * * MON-FRI" }),
          timeZone: z.string().openapi({ example: "Europe/Berlin" }),
          handler: z.string().openapi({ example: "reports.send" }),
          active: z.boolean().openapi({ description: "Whether the published definition has the schedule" }),
          last: ScheduleRunSchema.nullable(),
          next: z.array(z.iso.datetime()).openapi({
            description: "The next ten times at which it is due; empty if it is not active",
          }),
        })
        .openapi("Schedule"),
    ),
  })
  .openapi("Schedules");

export function deliveryRoutes(prefix: AdminPrefix) {
  const shared = (operation: PlatformOperation) => ({
    ...adminRoute(prefix, operation),
    tags: ["Deliveries"],
  });
  const list = defineRoute({
    ...shared("orbs.read"),
    method: "get",
    path: `${prefix}/{orbId}/deliveries`,
    operationId: "listDeliveries",
    summary: "List deliveries of hooks after writes and calls of schedules",
    description:
      "In the order in which they changed last. The list has what waits, the last 100 successful deliveries of each hook, and those that were given up within 30 days. A delivery that changes while you read the pages can appear twice.",
    request: {
      params: OrbIdParam,
      query: z.strictObject({
        limit: Limit,
        cursor: Cursor,
        status: z
          .enum(DELIVERY_STATUS)
          .optional()
          .openapi({ description: "Only deliveries with this status" }),
      }),
    },
    responses: { 200: json("A page", PageSchema) },
    problems: [400, 401, 403, 404],
  });
  const schedules = defineRoute({
    ...shared("orbs.read"),
    method: "get",
    path: `${prefix}/{orbId}/schedules`,
    operationId: "listSchedules",
    summary: "List schedules with their last run and their next times",
    description:
      "Lists the schedules of the published definition, or those of the newest draft if the orb is not published.",
    request: { params: OrbIdParam },
    responses: { 200: json("The schedules, in the order of the document", SchedulesSchema) },
    problems: [401, 403, 404],
  });
  const again = defineRoute({
    ...shared("orbs.write"),
    method: "post",
    path: `${prefix}/{orbId}/deliveries/{deliveryId}/redeliver`,
    operationId: "redeliver",
    summary: "Deliver again",
    description:
      "One further attempt follows within seconds. It does not wait for other deliveries of the entry.",
    request: { params: OrbIdParam.extend({ deliveryId: z.string().openapi({ example: "notify.1342" }) }) },
    responses: { 202: { description: "Accepted" } },
    problems: [401, 403, 404],
  });
  const secret = defineRoute({
    ...createsCredential(shared("orbs.write")),
    method: "post",
    path: `${prefix}/{orbId}/hooks/{hookId}/secret`,
    operationId: "renewWebhookSecret",
    summary: "Make a new secret for a webhook",
    description:
      "Only this response contains the secret. For 24 hours, webhooks are also signed with the previous secret.",
    request: { params: OrbIdParam.extend({ hookId: z.string().openapi({ example: "notify" }) }) },
    responses: { 200: json("The secret", SecretSchema) },
    problems: [401, 403, 404],
  });
  return newRouter()
    .openapi(list, async (c) => {
      const { limit, cursor, status } = c.req.valid("query");
      const kind = `deliveries/${status ?? "all"}`;
      const { orbId: orb } = c.req.valid("param");
      const page = await listDeliveries(c.var.deps, c.var.actor, {
        orb,
        status,
        limit,
        from: readPlace(kind, cursor),
      });
      const { items, next, worker } = page;
      const shown = { items, nextCursor: writePlace(kind, next), worker };
      if (cursor !== undefined) return c.json(shown, 200);
      const { count, oldest } = await readBacklog(c.var.deps, orb);
      const backlog = { count, oldest: oldest === null ? null : new Date(oldest).toISOString() };
      return c.json({ ...shown, backlog }, 200);
    })
    .openapi(schedules, async (c) => {
      const items = await listSchedules(c.var.deps, c.var.actor, c.req.valid("param").orbId);
      return c.json({ items }, 200);
    })
    .openapi(again, async (c) => {
      const { orbId, deliveryId } = c.req.valid("param");
      await redeliver(c.var.deps, c.var.actor, orbId, deliveryId);
      return c.body(null, 202);
    })
    .openapi(secret, async (c) => {
      const { orbId, hookId } = c.req.valid("param");
      const made = await renewSecret(c.var.deps, c.var.actor, orbId, hookId);
      return c.json({ secret: made }, 200, { "Cache-Control": "no-store" });
    });
}
