/**
 * `npm run lock` completes package-lock.json after `npm install <package>`. With `--check`, it exits with 1 if an entry
 * is missing.
 *
 * If npm uses a partial mirror of the registry, it leaves out the optional packages of other operating systems, and
 * `npm ci` fails there. Their versions are known, so this script adds the entries without the registry.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(path, "utf8"));
const packages = lock.packages;
const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const SYSTEMS = {
  darwin: "darwin",
  linux: "linux",
  win32: "win32",
  windows: "win32",
  android: "android",
  freebsd: "freebsd",
};
const PROCESSORS = { x64: "x64", 64: "x64", arm64: "arm64", arm: "arm", ia32: "ia32" };

/** Returns the path where Node resolves a package from another package's folder. */
function resolve(from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf("node_modules/") - 1))) {
    const candidate = `${base === "" ? "" : `${base}/`}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (base === "") return undefined;
  }
}

/** System and processor in the name of a platform package, such as cli-darwin-arm64. */
function limits(name) {
  const words = name.split(/[-/]/);
  const os = words.map((word) => SYSTEMS[word]).find((word) => word !== undefined);
  const cpu = words.map((word) => PROCESSORS[word]).find((word) => word !== undefined);
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(os === undefined ? {} : { os: [os] }),
    ...(words.includes("musl") ? { libc: ["musl"] } : {}),
  };
}

const added = [];
for (const [folder, entry] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (!EXACT.test(version)) continue;
    const found = resolve(folder, name);
    if (found !== undefined && packages[found].version === version) continue;
    const place = found === undefined ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const { os, cpu, libc } = limits(name);
    packages[place] = {
      version,
      ...(cpu && { cpu }),
      ...(entry.dev && { dev: true }),
      ...(libc && { libc }),
      optional: true,
      ...(os && { os }),
    };
    added.push(`${name}@${version}`);
  }
}

if (added.length > 0 && process.argv.includes("--check")) {
  console.error(`package-lock.json lacks ${added.join(", ")}: run "npm run lock".`);
  process.exit(1);
}
if (added.length > 0) {
  lock.packages = Object.fromEntries(
    Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`Added to package-lock.json: ${added.join(", ")}`);
}
