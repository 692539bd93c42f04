import { z } from "@hono/zod-openapi";
import { knownLosses, type LiveSummary, orbOfLoss } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { copiesMissing, MAX_ORBS, type OrbFigures, readFigures } from "../../shared/discovery/gauges.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { writeFault } from "../../shared/discovery/writable.ts";
import { readHookFigures } from "../../shared/hooks/after/index.ts";
import {
  METRICS_TYPE,
  type Metric,
  metric,
  renderMetrics,
  type Sample,
} from "../../shared/kernel/metrics.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { scraper } from "../middleware/session.ts";

const PER_ORB: readonly [name: string, help: string, value: (each: OrbFigures) => number][] = [
  ["platform_orb_entries", "Entries of an orb.", ({ entries }) => entries],
  ["platform_orb_bytes", "Bytes of an orb's stream.", ({ info }) => info.state.bytes],
  ["platform_orb_messages", "Messages of an orb's stream.", ({ info }) => info.state.messages],
  ["platform_orb_consumers", "Consumers of an orb's stream.", ({ info }) => info.state.consumer_count],
];

const ageOf = ({ clock }: Deps, time: number | undefined) =>
  time === undefined ? 0 : Math.max(0, clock.now() - time) / 1000;

/** Returns the metrics of after-write hooks and schedules. Returns none if no application has any. */
async function hookMetrics(deps: Deps, orbs: readonly LiveSummary[]): Promise<Metric[]> {
  const figures = await readHookFigures(
    deps,
    orbs.filter(({ queues }) => queues.length > 0).slice(0, MAX_ORBS),
  );
  if (figures === null) return [];
  const { queues, deadLetters, worker } = figures;
  const outcomes = queues.flatMap(({ orb, hook, delivered, failed }): Sample[] => [
    [{ orb, hook, outcome: "delivered" }, delivered],
    [{ orb, hook, outcome: "failed" }, failed],
  ]);
  return [
    metric("gauge", "platform_hooks_running", "Whether a process delivers.", worker === "running" ? 1 : 0),
    metric(
      "counter",
      "platform_hook_deliveries_total",
      "Deliveries that ended, by hook or schedule, without those repeated on request.",
      outcomes,
    ),
    metric(
      "gauge",
      "platform_hook_waiting",
      "Deliveries that wait for another attempt, by hook or schedule.",
      queues.map(({ orb, hook, waiting }): Sample => [{ orb, hook }, waiting]),
    ),
    metric(
      "gauge",
      "platform_hook_unread",
      "Revisions that no process has read for the hook yet.",
      queues.map(({ orb, hook, unread }): Sample => [{ orb, hook }, unread]),
    ),
    metric(
      "gauge",
      "platform_hook_oldest_seconds",
      "Age of the oldest revision or tick that is not delivered, by hook or schedule; 0 if none.",
      queues.map(({ orb, hook, oldest }): Sample => [{ orb, hook }, ageOf(deps, oldest)]),
    ),
    metric(
      "gauge",
      "platform_hook_dead_letters",
      "Deliveries of an orb that were given up within 30 days.",
      deadLetters.map(({ orb, count }): Sample => [{ orb }, count]),
    ),
  ];
}

async function brokerMetrics(deps: Deps, published: PublishedOrbs): Promise<Metric[]> {
  const [{ orbs, damaged, platform, sessions, roundTripMs, server, figures }, fault, losses] =
    await Promise.all([readFigures(deps, published), writeFault(deps), knownLosses(deps)]);
  const gauge = (name: string, help: string, value: Parameters<typeof metric>[3]) =>
    metric("gauge", name, help, value);
  return [
    gauge("platform_info", "Versions.", [[{ version: VERSION, broker: server.version }, 1]]),
    gauge("platform_broker_round_trip_seconds", "Round trip to the broker.", roundTripMs / 1000),
    gauge("platform_broker_writable", "Whether the broker stores data.", fault === undefined ? 1 : 0),
    gauge(
      "platform_stream_copies_missing",
      "Copies of the stream of histories that are away or far behind.",
      copiesMissing(platform),
    ),
    gauge(
      "platform_stream_loss",
      "Streams that have lost messages, until an operator decides.",
      losses
        .slice(0, MAX_ORBS)
        .map((loss): Sample => [{ stream: loss.stream, orb: orbOfLoss(loss) ?? "" }, 1]),
    ),
    gauge("platform_orbs_published", "Published orbs.", orbs.length),
    gauge(
      "platform_orb_damaged",
      "Orbs whose stored definition is damaged.",
      damaged.slice(0, MAX_ORBS).map(({ orb, reason }): Sample => [{ orb, reason }, 1]),
    ),
    ...PER_ORB.map(([name, help, value]) =>
      gauge(
        name,
        help,
        figures.map((each): Sample => [{ orb: each.orb }, value(each)]),
      ),
    ),
    gauge(
      "platform_history_bytes",
      "Bytes of the histories of orbs and the audit log.",
      platform?.state.bytes,
    ),
    // This metric includes sessions that ended in the last minute. Excluding them would require reading every key.
    gauge(
      "platform_sessions",
      "Sessions, including those that ended within the last minute.",
      sessions?.state.messages,
    ),
    ...(await hookMetrics(deps, orbs)),
  ];
}

const route = defineRoute({
  method: "get",
  path: "/api/metrics",
  operationId: "getMetrics",
  summary: "Metrics for Prometheus",
  description:
    "For platform admins, or with the token `METRICS_TOKEN`. The host (`npm run host`) adds counts and latencies by route; the functions only report broker metrics.",
  tags: ["Discovery"],
  security: [{ bearer: [] }, { cookie: [] }],
  ...scopesFor("metrics.read"),
  middleware: [scraper],
  responses: {
    200: {
      description: "Text format 0.0.4",
      content: { "text/plain": { schema: z.string().openapi({ example: "platform_orbs_published 3\n" }) } },
    },
  },
  problems: [400, 401, 403],
});

export function metricsRoutes(published: PublishedOrbs) {
  return newRouter().openapi(route, async (c) => {
    const own = c.var.host.metrics?.() ?? [];
    const text = renderMetrics([...own, ...(await brokerMetrics(c.var.deps, published))]);
    return c.body(text, 200, { "content-type": METRICS_TYPE }) as never;
  });
}
