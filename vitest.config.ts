import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/sequencer.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Every file has real processes of its own (a broker, the runtime, a browser). Three at once take a quarter less time
    // on two cores, and then a browser or a reader that should be quick is now and then too late.
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // A busy machine needs longer than the second that is the default.
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/setup.ts"],
    // A forgotten await must fail the run, not pass by luck.
    dangerouslyIgnoreUnhandledErrors: false,
    allowOnly: false,
  },
});
