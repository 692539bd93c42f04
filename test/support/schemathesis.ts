/** Installs and runs schemathesis, which tests an API against its OpenAPI description. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tempDir } from "./broker.ts";
import { pythonTools } from "./python.ts";

const requirements = fileURLToPath(new URL("schemathesis.txt", import.meta.url));
const run = promisify(execFile);

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
  const program = join(await pythonTools("schemathesis", requirements), "schemathesis");
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
