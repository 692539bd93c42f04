import { type Metric, metric, type Sample } from "../../shared/kernel/metrics.ts";
import type { Hub } from "../../shared/streams/read/index.ts";
import { processMetrics } from "../process/metrics.ts";

export interface HttpCounts {
  statuses: Map<number, number>;
  /** Number of ended responses, by the reason for their end. */
  ends: Map<string, number>;
}

export function count<K>(map: Map<K, number>, key: K): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

const by = (label: string, values: Map<string | number, number>): Sample[] =>
  [...values].map(([key, value]) => [{ [label]: String(key) }, value]);

export function streamsMetrics({ readers, tails, connected, figures: f }: Hub, counts: HttpCounts): Metric[] {
  const refused = "Readers rejected because of a limit.";
  const slow = "Readers that were disconnected because they were slow.";
  return [
    metric("gauge", "streams_subscribers", "Live readers.", readers),
    metric("gauge", "streams_tails", "Distinct filters with a live tail.", tails),
    metric("gauge", "streams_broker_connected", "1 while the broker is connected.", connected ? 1 : 0),
    metric("counter", "streams_messages_total", "Messages read from the broker live.", f.messages),
    metric(
      "counter",
      "streams_deliveries_total",
      "Messages delivered live, counted per reader.",
      f.deliveries,
    ),
    metric("histogram", "streams_lag_seconds", "Age of a message when it is delivered.", f.lag.samples({})),
    metric("counter", "streams_slow_readers_total", slow, f.slowReaders),
    metric("counter", "streams_refused_total", refused, f.refused),
    metric("counter", "streams_broker_reconnects_total", "Reconnections to the broker.", f.reconnects),
    metric("counter", "streams_broker_failures_total", "Broker reads that failed.", f.failures),
    metric("counter", "streams_responses_total", "Responses by status.", by("status", counts.statuses)),
    metric("counter", "streams_ends_total", "Ended live responses by reason.", by("reason", counts.ends)),
    ...processMetrics(),
  ];
}
