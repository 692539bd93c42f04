/** Installs programs from PyPI in the checkout, for tests of contracts. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { missingPython } from "./lacking.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

const options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:"];

/**
 * Creates a virtual environment and installs packages there. Copying pip into each environment would take more of the
 * processor than most packages, so the machine's own installs them if it can.
 * @param what words for `pip install`
 * @returns the folder of the programs
 */
export async function pythonEnvironment(target: string, what: readonly string[]): Promise<string> {
  const programs = join(target, "bin");
  const python = join(programs, "python");
  await run("python3", ["-m", "venv", "--without-pip", target]);
  try {
    // Versions of pip before 22.3 do not know this option.
    await run("python3", ["-m", "pip", "--python", python, "install", ...options, ...what]);
  } catch {
    await run("python3", ["-m", "venv", target]);
    await run(python, ["-m", "pip", "install", ...options, ...what]);
  }
  return programs;
}

/**
 * Returns the folder of the programs. Installs them if the required versions are not there yet.
 * @param name of the folder below `.data`
 * @param requirements path of the list of packages with exact versions
 */
export async function pythonTools(name: string, requirements: string): Promise<string> {
  const versions = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const target = join(root, ".data", `${name}-${versions}`);
  // This file is written last. If it is missing, an installation was interrupted and is repeated.
  const installed = join(target, "installed");
  if (existsSync(installed)) return join(target, "bin");
  const missing = missingPython();
  if (missing !== undefined) throw new Error(missing);
  mkdirSync(join(root, ".data"), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  const programs = await pythonEnvironment(target, ["-r", requirements]);
  writeFileSync(installed, "");
  return programs;
}
