import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../../scripts/host/bundle.ts";
import { searchLogFiles } from "./logs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of this test run; everything in it goes when the run ends. */
    runDir: string;
    /** Path of the bundled functions, or why they could not be bundled. */
    bundle: { path: string } | { error: string };
  }
}

/** Bundles the functions once for all files, and gives the run a folder that is removed afterwards. */
export default async function setup(project: TestProject): Promise<() => void> {
  const runDir = mkdtempSync(join(tmpdir(), "platform-test-"));
  mkdirSync(join(runDir, "data"));
  // Scripts are started by the dozen, and so are the files of tests: what one has compiled the next one finds.
  process.env.NODE_COMPILE_CACHE = join(runDir, "compiled");
  project.provide("runDir", runDir);
  const path = join(runDir, "worker.js");
  try {
    writeFileSync(path, await bundleFunctions());
    project.provide("bundle", { path });
  } catch (error) {
    // Tests that need no functions can still run, and the others tell why they cannot.
    project.provide("bundle", { error: error instanceof Error ? error.message : String(error) });
  }
  return () => {
    const leaks = searchLogFiles(runDir);
    rmSync(runDir, { recursive: true, force: true, maxRetries: 5 });
    if (leaks.length > 0) throw new Error(`Logs that the tests left hold secrets: ${leaks.join("; ")}`);
  };
}
