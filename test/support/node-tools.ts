/** Installs programs from npm in the checkout, for tests of contracts. They are no dependencies of the project. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the variables for npm. It reaches other machines, so it gets the authorities that other tests do without. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const { TEST_CA_CERTS, ...env } = process.env;
  return TEST_CA_CERTS === undefined ? env : { ...env, NODE_EXTRA_CA_CERTS: TEST_CA_CERTS };
}

/**
 * Returns the folder `node_modules` of the programs. Installs them if the required versions are not there yet.
 * @param name of the folder below `test/support` with `package.json` and `package-lock.json`
 */
export async function nodeTools(name: string): Promise<string> {
  const source = join(root, "test/support", name);
  const lock = readFileSync(join(source, "package-lock.json"));
  const versions = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  const target = join(root, ".data", `${name}-${versions}`);
  // This file is written last. If it is missing, an installation was interrupted and is repeated.
  const installed = join(target, "installed");
  if (!existsSync(installed)) {
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    for (const file of ["package.json", "package-lock.json"])
      copyFileSync(join(source, file), join(target, file));
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await promisify(execFile)("npm", ["ci", ...options], { cwd: target, env: npmEnvironment() });
    writeFileSync(installed, "");
  }
  return join(target, "node_modules");
}
