import { spawnSync } from "node:child_process";
import type { TestContext } from "vitest";

/** Skips a test if this machine lacks its tool, and says what to install. `.ci/run` counts a skipped test as failed. */
export function need(context: TestContext, missing: string | undefined): void {
  if (missing !== undefined) context.skip(missing);
}

/** Returns whether a program is installed on this machine. */
export const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;

/** Returns why there is no Python, or undefined if there is one. */
export const missingPython = (): string | undefined =>
  spawnSync("python3", ["-c", "import ensurepip"]).status === 0
    ? undefined
    : "The test needs Python 3. Install python3 and python3-venv.";

/**
 * For every command of Go, so that all programs share one build of the standard library. Without C, optimization and
 * symbols, the build takes less time.
 */
export const GO_ENV = { CGO_ENABLED: "0", GOFLAGS: "'-gcflags=all=-N -l' '-ldflags=-s -w'" };

/** Returns why there is no Go, or undefined if there is one. */
export const missingGo = (): string | undefined =>
  has("go") ? undefined : "The test needs Go. Install golang.";
