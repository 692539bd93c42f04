import { type Metric, metric } from "../../shared/kernel/metrics.ts";

export function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const start = Math.round(Date.now() / 1000 - process.uptime());
  return [
    metric("gauge", "process_resident_memory_bytes", "Resident memory.", rss),
    metric("gauge", "process_heap_bytes", "Heap in use.", heapUsed),
    metric("counter", "process_cpu_seconds_total", "Processor time.", (user + system) / 1e6),
    metric("gauge", "process_start_time_seconds", "When the process started.", start),
  ];
}
