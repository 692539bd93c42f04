/** E: /api/metrics, for Prometheus. */
import { z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import type { Deps } from "../../shared/deps.ts";
import { sameSecret } from "../../shared/ids.ts";
import { liveDefinitions } from "../../shared/orb/live.ts";
import { indexBytes } from "../../shared/store/budget.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { StreamInfo } from "../../shared/store/types.ts";
import { VERSION } from "../../shared/version.ts";
import type { AppEnv } from "../context.ts";
import { credentialsOf, platformAdmin } from "../middleware/session.ts";
import { defineRoute, newRouter } from "../router.ts";
import { type Metric, renderMetrics, type Sample } from "./request-counts.ts";

/** Orbs that are told of one by one. */
const MAX_ORBS = 1_000;
/** Orbs that are asked for at once. */
const AT_ONCE = 16;

/** Lets in whoever brings the scrape token, and platform admins. */
const scraper: MiddlewareHandler<AppEnv> = async (c, next) => {
  const { metricsToken } = c.var.deps.config;
  const { bearer } = credentialsOf(c);
  const isToken =
    metricsToken !== undefined && bearer !== undefined && (await sameSecret(bearer, metricsToken));
  return isToken ? next() : platformAdmin(c, next);
};

interface OrbFigures {
  orb: string;
  info: StreamInfo;
  entries: number;
}

async function orbFigures(deps: Deps, orb: string): Promise<OrbFigures | undefined> {
  const stream = streams.orb(orb);
  const [info, index] = await Promise.all([
    deps.store.streamInfo(stream),
    // One message for each entry: the first one tells how many follow.
    deps.store
      .scan(stream, subjects.orbIndex(orb), { fromSeq: 1, limit: 1, maxBytes: indexBytes(1) })
      .catch(() => undefined),
  ]);
  if (info === null || index === undefined) return undefined;
  return { orb, info, entries: index.messages.length + index.pending };
}

async function brokerMetrics(deps: Deps): Promise<Metric[]> {
  const [{ orbs, damaged }, platform, sessions, roundTripMs, server] = await Promise.all([
    liveDefinitions(deps),
    deps.store.streamInfo(streams.platform),
    deps.store.streamInfo(streams.kv(buckets.sessions)),
    deps.store.ping(),
    deps.store.server(),
  ]);
  const asked = orbs.slice(0, MAX_ORBS).map(({ orb }) => orb);
  const figures: OrbFigures[] = [];
  for (let i = 0; i < asked.length; i += AT_ONCE) {
    const some = await Promise.all(asked.slice(i, i + AT_ONCE).map((orb) => orbFigures(deps, orb)));
    figures.push(...some.filter((each) => each !== undefined));
  }
  const gauge = (name: string, help: string, samples: Sample[]): Metric => ({
    name,
    type: "gauge",
    help,
    samples,
  });
  const byOrb = (value: (each: OrbFigures) => number): Sample[] =>
    figures.map((each) => [{ orb: each.orb }, value(each)]);
  const one = (value: number | undefined): Sample[] => (value === undefined ? [] : [[{}, value]]);
  return [
    gauge("platform_info", "Versions.", [[{ version: VERSION, broker: server.version }, 1]]),
    gauge("platform_broker_round_trip_seconds", "Round trip to the broker.", one(roundTripMs / 1000)),
    gauge("platform_orbs_published", "Published orbs.", one(orbs.length)),
    gauge(
      "platform_orb_damaged",
      "Orbs whose stored definition is damaged.",
      damaged.slice(0, MAX_ORBS).map(({ orb, reason }): Sample => [{ orb, reason }, 1]),
    ),
    gauge(
      "platform_orb_entries",
      "Entries of an orb.",
      byOrb(({ entries }) => entries),
    ),
    gauge(
      "platform_orb_bytes",
      "Bytes of an orb's stream.",
      byOrb(({ info }) => info.state.bytes),
    ),
    gauge(
      "platform_orb_messages",
      "Messages of an orb's stream.",
      byOrb(({ info }) => info.state.messages),
    ),
    gauge(
      "platform_orb_consumers",
      "Consumers of an orb's stream.",
      byOrb(({ info }) => info.state.consumer_count),
    ),
    gauge(
      "platform_history_bytes",
      "Bytes of the histories of orbs and the audit log.",
      one(platform?.state.bytes),
    ),
    // The key of a session that was ended is a marker for a minute: to leave those out, every key would have to be read.
    gauge(
      "platform_sessions",
      "Sessions that have not ended, and those that were ended within the last minute.",
      one(sessions?.state.messages),
    ),
  ];
}

const route = defineRoute({
  method: "get",
  path: "/api/metrics",
  operationId: "getMetrics",
  summary: "Figures for Prometheus",
  description:
    "For platform admins, or with the token `METRICS_TOKEN`. Counts and latencies by route where one process serves all requests (`npm run host`); on the edge, what the broker knows.",
  tags: ["Discovery"],
  security: [{ bearer: [] }, { cookie: [] }],
  middleware: [scraper],
  responses: {
    200: {
      description: "Text format 0.0.4",
      content: { "text/plain": { schema: z.string().openapi({ example: "platform_orbs_published 3\n" }) } },
    },
  },
  problems: [400, 401, 403],
});

export function metricsRoutes() {
  return newRouter().openapi(route, async (c) => {
    const own = c.var.host.metrics?.() ?? [];
    const text = renderMetrics([...own, ...(await brokerMetrics(c.var.deps))]);
    return c.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }) as never;
  });
}
