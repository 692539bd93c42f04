/** Installs and runs schemathesis, which tests an API against its OpenAPI description. */
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installPackages } from "../../scripts/tools/packages.ts";
import { tempDir } from "./broker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const requirements = fileURLToPath(new URL("schemathesis.txt", import.meta.url));
const run = promisify(execFile);

/** Returns the path of the program. Installs it in the checkout if the required versions are not there yet. */
async function schemathesisProgram(): Promise<string> {
  const versions = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const target = join(root, ".data", `schemathesis-${versions}`);
  const program = join(target, "bin", "schemathesis");
  // This file is written last. If it is missing, an installation was interrupted and is repeated.
  const installed = join(target, "installed");
  if (existsSync(installed)) return program;
  if (spawnSync("python3", ["-c", "import ensurepip"]).status !== 0) {
    const fault = installPackages(["python3", "python3-venv"]);
    if (fault !== undefined)
      throw new Error("The test needs Python 3 with venv. Install python3 and python3-venv.");
  }
  mkdirSync(join(root, ".data"), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  await run("python3", ["-m", "venv", target]);
  const options = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
  await run(join(target, "bin", "python"), ["-m", "pip", "install", ...options, "-r", requirements]);
  writeFileSync(installed, "");
  return program;
}

export interface SchemathesisRun {
  origin: string;
  /** The OpenAPI description. */
  document: unknown;
  token: string;
  /** Configuration in TOML. */
  config: string;
  args: readonly string[];
}

/** Returns the exit code, which is 0 if no check failed, and the output. */
export async function schemathesis({ origin, document, token, config, args }: SchemathesisRun) {
  const program = await schemathesisProgram();
  const dir = tempDir("schemathesis");
  writeFileSync(join(dir, "openapi.json"), JSON.stringify(document));
  writeFileSync(join(dir, "schemathesis.toml"), config);
  const given = [
    "run",
    "openapi.json",
    "--url",
    origin,
    "--header",
    `Authorization: Bearer ${token}`,
    ...args,
  ];
  return run(program, given, { cwd: dir, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
  );
}
