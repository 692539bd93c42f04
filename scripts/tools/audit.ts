/** Reports known vulnerabilities in the dependencies, and secrets in tracked files. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Patterns that match secrets, by the name of the kind of secret. Examples in documents must not match: use `…` or
 * `<key>`.
 */
const SECRETS: Record<string, RegExp> = {
  "private key (PEM)": /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}/,
  "private key (JWK)": /["']?\bd["']?\s*:\s*["'][A-Za-z0-9_-]{40,}["']/,
  "symmetric key (JWK)": /["']?\bk["']?\s*:\s*["'][A-Za-z0-9_-]{40,}["']/,
  "signed token": /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{40,}/,
  "API token": /orbtok_[a-z][a-z0-9_-]{1,62}_[0-9a-f]{32}_[0-9a-z]{20}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}/,
  "broker seed": /\bS[AUONX][A-Z2-7]{50,}\b/,
  "credentials in an address": /\b(?:nats|wss?|https?):\/\/[^\s:/@${}<>…`]+:[A-Za-z0-9_-]{16,}@/,
  "password in a configuration": /\bpass(?:word)?["']?\s*[:=]\s*["'][A-Za-z0-9_+/-]{24,}["']/i,
  "access key": /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bsk_live_[A-Za-z0-9]{16,}/,
};

/** Returns the kinds of secrets in a string, without the secrets themselves. */
export function secretsIn(text: string): string[] {
  return Object.entries(SECRETS).flatMap(([kind, pattern]) => (pattern.test(text) ? [kind] : []));
}

/** Returns one line for each secret in a tracked file. */
export function searchTrackedFiles(tree = root): string[] {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: tree, encoding: "utf8" }).split("\0");
  return files.flatMap((file) => {
    if (file === "") return [];
    try {
      const path = join(tree, file);
      if (statSync(path).size > 2_000_000) return [];
      return secretsIn(readFileSync(path, "utf8")).map((kind) => `${file}: ${kind}`);
    } catch {
      // git still tracks this file, but it was just deleted.
      return [];
    }
  });
}

/** Folders of the code that serves requests. Other folders build, test or measure it. */
const SERVING = ["functions", "shared", "scripts/host", "scripts/hooks", "scripts/streams"];
/** Packages that only `npm start` uses, on a person's own machine. */
const LOCAL = ["esbuild", "miniflare"];
const PACKAGE = /(?:from|import)\(?\s*"((?:@[\w.-]+\/)?[\w][\w.-]*)[^":]*"/g;

interface Lock {
  packages: Record<
    string,
    { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }
  >;
}

/**
 * Returns the folders of the packages that serve requests, and of their dependencies. (In package.json, all packages
 * are development dependencies, because the npm package contains only the client and the command line.)
 */
export function servingPackages(tree = root): Set<string> {
  const { packages } = JSON.parse(readFileSync(join(tree, "package-lock.json"), "utf8")) as Lock;
  const found = new Set<string>();
  const add = (from: string, name: string): void => {
    const folder = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
    if (packages[folder] === undefined) {
      // Node also looks for a package in each parent folder.
      if (from !== "") add(from.slice(0, Math.max(0, from.lastIndexOf("node_modules/") - 1)), name);
      return;
    }
    if (found.has(folder)) return;
    found.add(folder);
    const { dependencies, optionalDependencies } = packages[folder];
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) add(folder, each);
  };
  const files = execFileSync("git", ["ls-files", "-z", ...SERVING], { cwd: tree, encoding: "utf8" });
  for (const file of files.split("\0").filter((each) => /\.tsx?$/.test(each))) {
    const text = readFileSync(join(tree, file), "utf8");
    for (const [, name = ""] of text.matchAll(PACKAGE)) if (!LOCAL.includes(name)) add("", name);
  }
  return found;
}

interface AuditReport {
  metadata?: { vulnerabilities?: Record<string, number> };
  vulnerabilities?: Record<string, { severity: string; range?: string; nodes?: string[] }>;
}

/**
 * Returns the findings of severity high or critical; null if there is no audit data.
 * @param counts returns whether a finding in this folder counts
 */
export function readAudit(printed: string, counts: (folder: string) => boolean): string[] | null {
  let report: AuditReport;
  try {
    report = JSON.parse(printed) as AuditReport;
  } catch {
    return null;
  }
  if (report.metadata?.vulnerabilities === undefined) return null;
  return Object.entries(report.vulnerabilities ?? {})
    .filter(([, { severity, nodes }]) => /^(high|critical)$/.test(severity) && nodes?.some(counts) !== false)
    .map(([name, { severity, range }]) => `${name} ${range ?? ""}: ${severity}`);
}

function main(): number {
  let failed = 0;
  const secrets = searchTrackedFiles();
  for (const finding of secrets)
    console.error(`A tracked file contains a secret. Remove and rotate it: ${finding}`);
  if (secrets.length > 0) failed = 1;
  else console.log("No tracked file contains a secret.");

  const npm = spawnSync("npm", ["audit", "--audit-level=high", "--json"], {
    cwd: root,
    encoding: "utf8",
    timeout: 30_000,
  });
  const serving = servingPackages();
  const findings = readAudit(npm.stdout ?? "", (folder) => serving.has(folder));
  if (findings === null)
    console.log("Note: the package registry has no audit data, so known vulnerabilities were not checked.");
  else if (findings.length === 0)
    console.log("No package that serves requests has a known vulnerability of high severity.");
  else {
    for (const finding of findings)
      console.error(`A dependency has a known vulnerability. Update it: ${finding}`);
    failed = 1;
  }
  return failed;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.exit(main());
