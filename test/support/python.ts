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

/**
 * Returns the folder of the programs. Installs them if the required versions are not there yet.
 * @param name of the folder below `.data`
 * @param requirements path of the list of packages with exact versions
 */
export async function pythonTools(name: string, requirements: string): Promise<string> {
  const versions = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const target = join(root, ".data", `${name}-${versions}`);
  const programs = join(target, "bin");
  // This file is written last. If it is missing, an installation was interrupted and is repeated.
  const installed = join(target, "installed");
  if (existsSync(installed)) return programs;
  const missing = missingPython();
  if (missing !== undefined) throw new Error(missing);
  mkdirSync(join(root, ".data"), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  await run("python3", ["-m", "venv", target]);
  const options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:"];
  await run(join(programs, "python"), ["-m", "pip", "install", ...options, "-r", requirements]);
  writeFileSync(installed, "");
  return programs;
}
