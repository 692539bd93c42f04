/**
 * Readers of lists, streams and live lists while change sets are published on three brokers, whose replicas lag.
 * `TEST_PUBLICATIONS=200` publishes more sets than the usual run, and prints the number of reads.
 */
import { expect, test } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { startPlatform } from "../support/platform.ts";
import { readWhilePublished } from "../support/release.ts";

const { TEST_PUBLICATIONS } = process.env;
const PUBLICATIONS = Number(TEST_PUBLICATIONS ?? 4);

for (const [host, serve] of [
  ["in workerd", undefined],
  ["on a Node host", serveProcess],
] as const)
  test(`no reader sees half of a publication on three brokers ${host}`, async () => {
    const options = serve === undefined ? {} : { serve };
    await using platform = await startPlatform({ env: { NATS_BROKERS: "3" }, ...options });
    const began = Date.now();
    const reads = await readWhilePublished(platform, PUBLICATIONS);
    for (const count of Object.values(reads)) expect(count).toBeGreaterThan(0);
    if (TEST_PUBLICATIONS !== undefined) console.log(host, PUBLICATIONS, Date.now() - began, reads);
  }, 1_800_000);
