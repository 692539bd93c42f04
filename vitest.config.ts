import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Every file has real processes of its own (a broker, the runtime, a browser). Three at once keep two cores busy, as
    // some of them wait; more make all of them slower.
    pool: "forks",
    maxWorkers: 3,
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
