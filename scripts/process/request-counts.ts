/** Counts the requests of a host, and measures their durations. */
import { Histogram, type Metric, metric, type Sample } from "../../shared/kernel/metrics.ts";

/** Upper bounds of the latency buckets, in milliseconds. */
const BOUNDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
/** Maximum number of label sets in the metrics. There are only a few routes, so more label sets would be a bug. */
const MAX_SERIES = 2_000;

export class RequestCounts {
  readonly #answers = new Map<string, { labels: Record<string, string>; count: number }>();
  readonly #latencies = new Map<string, { labels: Record<string, string>; durations: Histogram }>();

  observe(request: { method: string; route: string; status: number; durationMs: number }): void {
    const { status, durationMs } = request;
    // A client can send any method. Use only known methods as labels, so that clients cannot create new ones.
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
      latency = { labels: { method, route }, durations: new Histogram(BOUNDS) };
      this.#latencies.set(one, latency);
    }
    latency.durations.observe(durationMs);
  }

  metrics(): Metric[] {
    const requests = [...this.#answers.values()].map(({ labels, count }): Sample => [labels, count]);
    const latencies = [...this.#latencies.values()].flatMap(({ labels, durations }) =>
      durations.samples(labels),
    );
    const help = "Time from a request to the start of its response.";
    return [
      metric("counter", "http_requests_total", "Requests by route and status.", requests),
      metric("histogram", "http_request_duration_seconds", help, latencies),
    ];
  }
}
