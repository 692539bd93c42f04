import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/sequencer.ts";

/** Tests of functions, verbs and routes. */
const API = ["test/unit/**/*.test.ts", "test/store/**/*.test.ts", "test/http/**/*.test.ts"];
/** Tests that pass however long each step takes: of contracts, and of faults without chosen moments. */
const STEADY = [
  "test/contract/**/*.test.ts",
  "test/faults/{backup,cluster,cluster-authority,commands,deployment,doctor,hostile,leader-contact}.test.ts",
  "test/faults/{permissions,production,restore,schedules,secrets,slow,storage-shapes,upgrade,webhooks}.test.ts",
];

export default defineConfig({
  test: {
    pool: "forks",
    sequence: { sequencer: LongestFirst },
    // Every file has real processes of its own: a broker, the runtime, a browser. On two cores, three files at once take
    // a quarter less time than two. Browsers, and tests that stop processes at chosen moments, are then sometimes late.
    projects: [
      {
        extends: true,
        test: { name: "api", include: API, maxWorkers: 3, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: "steady", include: STEADY, maxWorkers: 3, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: "other",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...API, ...STEADY],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // A busy machine takes many times as long as an idle one. These limits only end a test that hangs.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 90_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/setup.ts"],
    // A forgotten await must fail the run, not pass by luck.
    dangerouslyIgnoreUnhandledErrors: false,
    allowOnly: false,
  },
});
