import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../../scripts/bundle/bundle.ts";
import { searchLogFiles } from "./logs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Temporary folder of this test run. */
    runDir: string;
    /** Path of the bundled functions, or the error of the bundler. */
    bundle: { path: string } | { error: string };
  }
}

/** Bundles the functions once for all test files and creates a temporary folder. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runDir = mkdtempSync(join(tmpdir(), "platform-test-"));
  mkdirSync(join(runDir, "data"));
  // Cache compiled JavaScript, so that scripts and test files compile each module only once.
  process.env.NODE_COMPILE_CACHE = join(runDir, "compiled");
  project.provide("runDir", runDir);
  const path = join(runDir, "worker.js");
  try {
    writeFileSync(path, await bundleFunctions());
    project.provide("bundle", { path });
  } catch (error) {
    // The bundling failed. Tests without the functions still run, and all others report this error.
    project.provide("bundle", { error: error instanceof Error ? error.message : String(error) });
  }
  return async () => {
    const leaks = searchLogFiles(runDir);
    // Vitest waits at the same time for the last workers to end, and reports one as late if this blocks the process.
    await rm(runDir, { recursive: true, force: true, maxRetries: 5 });
    if (leaks.length > 0) throw new Error(`Logs that the tests left hold secrets: ${leaks.join("; ")}`);
  };
}
