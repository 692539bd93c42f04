import type { Hub } from "../../shared/streams/read/hub.ts";
import { LAG_BUCKETS } from "../../shared/streams/read/hub.ts";

/** Content type of the Prometheus text format, version 0.0.4. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Counters of the process in addition to those of the hub. */
export interface HttpCounts {
  /** Responses by status. */
  statuses: Map<number, number>;
  /** Ended live responses by reason. */
  ends: Map<string, number>;
}

interface Metric {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: [labels: string, value: number][];
}

const single = (value: number): [string, number][] => [["", value]];
const labelled = (label: string, values: Map<string | number, number>): [string, number][] =>
  [...values].map(([key, value]) => [`{${label}="${key}"}`, value]);

function metrics(hub: Hub, counts: HttpCounts): Metric[] {
  const { figures: f } = hub;
  const memory = process.memoryUsage();
  let cumulated = 0;
  const lag: [string, number][] = LAG_BUCKETS.map((limit, i) => {
    cumulated += f.lag.buckets[i] ?? 0;
    return [`_bucket{le="${limit / 1000}"}`, cumulated];
  });
  lag.push(['_bucket{le="+Inf"}', f.lag.count], ["_sum", f.lag.sum / 1000], ["_count", f.lag.count]);
  return [
    { name: "streams_subscribers", type: "gauge", help: "Live readers.", samples: single(hub.readers) },
    {
      name: "streams_tails",
      type: "gauge",
      help: "Distinct filters with a live tail.",
      samples: single(hub.tails),
    },
    {
      name: "streams_broker_connected",
      type: "gauge",
      help: "1 while the broker is connected.",
      samples: single(hub.connected ? 1 : 0),
    },
    {
      name: "streams_messages_total",
      type: "counter",
      help: "Messages read from the broker live.",
      samples: single(f.messages),
    },
    {
      name: "streams_deliveries_total",
      type: "counter",
      help: "Messages delivered live, counted per reader.",
      samples: single(f.deliveries),
    },
    {
      name: "streams_lag_seconds",
      type: "histogram",
      help: "Age of a message when it is delivered.",
      samples: lag,
    },
    {
      name: "streams_slow_readers_total",
      type: "counter",
      help: "Readers that were disconnected because they were slow.",
      samples: single(f.slowReaders),
    },
    {
      name: "streams_refused_total",
      type: "counter",
      help: "Readers rejected because of a limit.",
      samples: single(f.refused),
    },
    {
      name: "streams_broker_reconnects_total",
      type: "counter",
      help: "Reconnections to the broker.",
      samples: single(f.reconnects),
    },
    {
      name: "streams_broker_failures_total",
      type: "counter",
      help: "Broker reads that failed.",
      samples: single(f.failures),
    },
    {
      name: "streams_responses_total",
      type: "counter",
      help: "Responses by status.",
      samples: labelled("status", counts.statuses),
    },
    {
      name: "streams_ends_total",
      type: "counter",
      help: "Ended live responses by reason.",
      samples: labelled("reason", counts.ends),
    },
    {
      name: "process_resident_memory_bytes",
      type: "gauge",
      help: "Resident memory.",
      samples: single(memory.rss),
    },
    { name: "process_heap_bytes", type: "gauge", help: "Heap in use.", samples: single(memory.heapUsed) },
    {
      name: "process_cpu_seconds_total",
      type: "counter",
      help: "Processor time.",
      samples: single((process.cpuUsage().user + process.cpuUsage().system) / 1e6),
    },
    {
      name: "process_start_time_seconds",
      type: "gauge",
      help: "When the process started.",
      samples: single(Math.round(Date.now() / 1000 - process.uptime())),
    },
  ];
}

/** All metrics in Prometheus format. */
export function renderMetrics(hub: Hub, counts: HttpCounts): string {
  return metrics(hub, counts)
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([label, value]) => `${name}${label} ${value}`),
      ].join("\n"),
    )
    .join("\n")
    .concat("\n");
}
