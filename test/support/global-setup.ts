import { mkdirSync, mkdtempSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildPrograms } from "../../scripts/bundle/programs.ts";
import { searchLogFiles } from "./logs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Temporary folder of this test run. */
    runDir: string;
    /** Folder of what platforms run and serve, or the error of the bundler. */
    programs: { path: string } | { error: string };
  }
}

/** Bytes that the data of all tests need at most, while it is in memory. */
const DATA_BYTES = 10 * 1024 ** 3;

/**
 * Returns the folder for the data of the tests. In memory, brokers and logs do not wait for a disk. No test needs the
 * data to outlive the machine: kills and cuts leave it in memory too.
 */
function dataFolder(): string {
  const memory = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= DATA_BYTES && freemem() >= DATA_BYTES ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Builds the programs once for all test files and creates a temporary folder. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runDir = mkdtempSync(join(dataFolder(), "platform-test-"));
  mkdirSync(join(runDir, "data"));
  // Cache compiled JavaScript, so that scripts and test files compile each module only once.
  process.env.NODE_COMPILE_CACHE = join(runDir, "compiled");
  // Many small brokers: their memory may grow, because collecting garbage takes a part of the processor's time.
  process.env.GOGC ??= "400";
  // With several threads, an idle broker looks for work in vain. With one, it takes a fifth less processor time.
  process.env.GOMAXPROCS ??= "1";
  // Programs in Python start several times. Without compiled modules, each start compiles them again.
  delete process.env.PYTHONDONTWRITEBYTECODE;
  project.provide("runDir", runDir);
  const path = join(runDir, "programs");
  try {
    await buildPrograms(path, ["workerd", "node"]);
    project.provide("programs", { path });
  } catch (error) {
    // The bundling failed. Tests without the programs still run, and all others report this error.
    project.provide("programs", { error: error instanceof Error ? error.message : String(error) });
  }
  return async () => {
    const leaks = searchLogFiles(runDir);
    // Vitest waits at the same time for the last workers to end, and reports one as late if this blocks the process.
    await rm(runDir, { recursive: true, force: true, maxRetries: 5 });
    if (leaks.length > 0) throw new Error(`Logs that the tests left hold secrets: ${leaks.join("; ")}`);
  };
}
