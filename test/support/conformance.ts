/** Runs the Model Context Protocol's own conformance tests against a server. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { tempDir } from "./broker.ts";
import { nodeTools } from "./node-tools.ts";

interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/**
 * Runs all scenarios of a version of the protocol.
 * @returns the checks of each scenario, by its name
 */
export async function conformance(url: string, version: string): Promise<Map<string, Check[]>> {
  const [modules, out] = [await nodeTools("mcp"), tempDir("conformance")];
  const program = join(modules, "@modelcontextprotocol/conformance/dist/index.js");
  const options = ["--url", url, "--suite", "all", "--spec-version", version, "--output-dir", out];
  // The program fails if a scenario fails, and many are about features that the server does not have.
  await promisify(execFile)(process.execPath, [program, "server", ...options], { maxBuffer: 50e6 }).catch(
    () => undefined,
  );
  const named = readdirSync(out).map((folder): [string, Check[]] => {
    const [, name = ""] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
    return [name, JSON.parse(readFileSync(join(out, folder, "checks.json"), "utf8")) as Check[]];
  });
  return new Map(named);
}
