/** Counts requests and their latencies in processes that live long enough. */

/** Upper bounds of the latency buckets, in milliseconds. */
const BOUNDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
/** Upper bound of distinct label sets. There are few routes, so reaching it would be a bug. */
const MAX_SERIES = 2_000;

interface Series {
  buckets: number[];
  count: number;
  sumMs: number;
}

/** One sample line of the Prometheus text format. */
export type Sample = [labels: Record<string, string>, value: number, suffix?: string];

/** A metric with its samples. */
export interface Metric {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

/** Collects the requests that a host observes. */
export class RequestCounts {
  readonly #answers = new Map<string, { labels: Record<string, string>; count: number }>();
  readonly #latencies = new Map<string, { labels: Record<string, string>; series: Series }>();

  observe(request: { method: string; route: string; status: number; durationMs: number }): void {
    const { status, durationMs } = request;
    // Clients can send any method, so only known methods become a label.
    const method = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS)$/.test(request.method) ? request.method : "other";
    const route = request.route === "" ? "none" : request.route;
    const one = `${method} ${route}`;
    const counted = `${one} ${status}`;
    const known = this.#answers.get(counted);
    if (known !== undefined) known.count++;
    else if (this.#answers.size < MAX_SERIES) {
      this.#answers.set(counted, { labels: { method, route, status: String(status) }, count: 1 });
    }
    let latency = this.#latencies.get(one);
    if (latency === undefined) {
      if (this.#latencies.size >= MAX_SERIES) return;
      latency = { labels: { method, route }, series: { buckets: BOUNDS.map(() => 0), count: 0, sumMs: 0 } };
      this.#latencies.set(one, latency);
    }
    const { series } = latency;
    series.count++;
    series.sumMs += durationMs;
    const bucket = BOUNDS.findIndex((bound) => durationMs <= bound);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  metrics(): Metric[] {
    const latencies = [...this.#latencies.values()].flatMap(({ labels, series }): Sample[] => {
      let below = 0;
      const buckets = BOUNDS.map((bound, i): Sample => {
        below += series.buckets[i] ?? 0;
        return [{ ...labels, le: String(bound / 1000) }, below, "_bucket"];
      });
      return [
        ...buckets,
        [{ ...labels, le: "+Inf" }, series.count, "_bucket"],
        [labels, series.sumMs / 1000, "_sum"],
        [labels, series.count, "_count"],
      ];
    });
    return [
      {
        name: "http_requests_total",
        type: "counter",
        help: "Requests by route and status.",
        samples: [...this.#answers.values()].map(({ labels, count }): Sample => [labels, count]),
      },
      {
        name: "http_request_duration_seconds",
        type: "histogram",
        help: "Time from a request to the start of its response.",
        samples: latencies,
      },
    ];
  }
}

function labelText(labels: Record<string, string>): string {
  const parts = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${escaped}"`;
  });
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

/** Prometheus' text format, version 0.0.4. */
export function renderMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value, suffix = ""]) => `${name}${suffix}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}
