/** The public conformance suite, run by its own vitest: see streams.test.ts. */
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

runConformanceTests({
  baseUrl: process.env.CONFORMANCE_URL ?? "",
  longPollTimeoutMs: Number(process.env.CONFORMANCE_LONG_POLL_MS),
});
