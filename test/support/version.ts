import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tempDir } from "./broker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The commit of version 0.1.0. */
const VERSION_0_1_0 = "f85299ca00740869279de65766f16e637404ecb7";

/** Checks out version 0.1.0 into a folder that uses this version's dependencies. Needs the git history. */
export function checkOutEarlierVersion(): string {
  const folder = tempDir("version-0.1.0");
  const archive = execFileSync(
    "git",
    ["archive", VERSION_0_1_0, "functions", "shared", "scripts", "package.json"],
    {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}
