/** Metrics in the Prometheus text format, version 0.0.4. */

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Sample = [labels: Record<string, string>, value: number, suffix?: string];

export interface Metric {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

export function metric(
  type: Metric["type"],
  name: string,
  help: string,
  value: number | Sample[] | undefined,
): Metric {
  return { name, type, help, samples: typeof value === "number" ? [[{}, value]] : (value ?? []) };
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #buckets: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#buckets = bounds.map(() => 0);
  }

  observe(ms: number): void {
    this.#sum += ms;
    this.#count++;
    const bucket = this.#bounds.findIndex((bound) => ms <= bound);
    if (bucket >= 0) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
  }

  /** Returns the histogram's samples. Prometheus expects cumulative buckets, in seconds. */
  samples(labels: Record<string, string>): Sample[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, i): Sample => {
      below += this.#buckets[i] ?? 0;
      return [{ ...labels, le: String(bound / 1000) }, below, "_bucket"];
    });
    return [
      ...buckets,
      [{ ...labels, le: "+Inf" }, this.#count, "_bucket"],
      [labels, this.#sum / 1000, "_sum"],
      [labels, this.#count, "_count"],
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

export function renderMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value, suffix = ""]) => `${name}${suffix}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}
