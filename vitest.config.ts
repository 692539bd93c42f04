import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { InterleavedSequencer } from "./test/support/sequencer.ts";

/** Workers for each core. Tests of faults mostly wait, and others use the processor meanwhile. */
const WORKERS_PER_CORE = 3;
/** Each worker can have a broker, a runtime and a browser, which take up to a gigabyte of memory. */
const MOST_WORKERS = 12;
/** These tests install other products. They run only if the command names them. */
const HEAVY = "test/peers";
const isHeavy = process.argv.some((argument) => argument.startsWith(HEAVY));

// Each start of workerd copies every authority that this names, which can take more processor time than the rest of
// the start. Platforms of the tests only reach this machine, so only what installs programs needs the authorities.
if (!isHeavy && process.env.NODE_EXTRA_CA_CERTS !== undefined) {
  process.env.TEST_CA_CERTS = process.env.NODE_EXTRA_CA_CERTS;
  delete process.env.NODE_EXTRA_CA_CERTS;
}

export default defineConfig({
  test: {
    pool: "forks",
    // With more memory for new objects, a worker collects garbage less often.
    execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=64"],
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(isHeavy ? [] : [`${HEAVY}/**`])],
    maxWorkers: Math.min(MOST_WORKERS, WORKERS_PER_CORE * availableParallelism()),
    sequence: { sequencer: InterleavedSequencer },
    // Files of a worker share the modules of a platform and the platform itself (see `sharedPlatform`), because loading
    // and starting them takes longer than most files.
    isolate: false,
    // A busy machine takes many times as long as an idle one. These limits only end a test that hangs.
    expect: { poll: { timeout: 60_000 } },
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
