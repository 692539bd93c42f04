/** The public conformance suite, run by its own vitest: see streams.test.ts. */
import { runConformanceTests } from "@durable-streams/server-conformance-tests";
import { describe } from "vitest";

const urls = JSON.parse(process.env.CONFORMANCE_URLS ?? "{}") as Record<string, string>;
const longPollTimeoutMs = Number(process.env.CONFORMANCE_LONG_POLL_MS);

// In one file, because loading the suite takes longer than most of its tests.
for (const [host, baseUrl] of Object.entries(urls))
  describe(host, () => runConformanceTests({ baseUrl, longPollTimeoutMs }));
