import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import { Failure } from "../process/failure.ts";

export const hasApt = () => spawnSync("apt-get", ["--version"]).status === 0;

/** Runs apt-get as root. Returns undefined if this process cannot become root without a password. */
function asRoot(...args: string[]): ReturnType<typeof spawnSync> | undefined {
  const isRoot = process.getuid?.() === 0;
  // Do not prompt for a password, because a test run must not wait for one.
  if (!isRoot && spawnSync("sudo", ["-n", "true"]).status !== 0) return undefined;
  const command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", ...args];
  const [first = "apt-get", ...rest] = isRoot
    ? command
    : ["sudo", "-n", "DEBIAN_FRONTEND=noninteractive", ...command];
  return spawnSync(first, rest, {
    encoding: "utf8",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}

const lastLine = (text: unknown) =>
  String(text ?? "")
    .trim()
    .split("\n")
    .at(-1) ?? "";

/** Installs Debian packages. @returns undefined on success, otherwise the reason */
export function installPackages(
  packages: readonly string[],
): { need: "root" } | { failed: string } | undefined {
  const install = () => asRoot("install", "-y", "--no-install-recommends", ...packages);
  let result = install();
  if (result === undefined) return { need: "root" };
  if (result.status !== 0) {
    // The package lists may be missing (in a container) or outdated.
    asRoot("update");
    result = install();
  }
  return result?.status === 0 ? undefined : { failed: lastLine(result?.stderr) };
}

/** Makes links to absolute paths, such as those into `/etc`, point into a folder that holds the same tree. */
function relink(root: string): void {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const to = readlinkSync(path);
    if (!to.startsWith("/") || !existsSync(join(root, to))) continue;
    rmSync(path);
    symlinkSync(join(root, to), path);
  }
}

/**
 * Runs apt-get as this user, with its cache in a folder. The machine does not change.
 * @param args of a command that downloads. If it fails, it is repeated with package lists of the folder's own, because
 *   those of the machine may be missing (in a container) or outdated.
 */
function download(folder: string, ...args: string[]): SpawnSyncReturns<string> {
  for (const name of ["archives", "lists"]) mkdirSync(join(folder, name, "partial"), { recursive: true });
  const options = [
    `Dir::Cache=${folder}`,
    `Dir::Cache::archives=${join(folder, "archives")}`,
    // The locks of the machine's folders need root, and nothing is written there.
    "Debug::NoLocking=true",
    // By default, apt downloads as another user, who may not write into this folder.
    `APT::Sandbox::User=${userInfo().username}`,
  ];
  const run = (more: readonly string[], words: readonly string[]) => {
    const given = [...options, ...more].flatMap((option) => ["-o", option]);
    return spawnSync("apt-get", ["-q", ...given, ...words], { cwd: folder, encoding: "utf8" });
  };
  const result = run([], args);
  if (result.status === 0) return result;
  const ownLists = [`Dir::State::Lists=${join(folder, "lists")}`];
  run(ownLists, ["update"]);
  return run(ownLists, args);
}

/**
 * Unpacks Debian packages into a folder, with the packages that they need and this machine lacks. They are not
 * installed, so the machine does not change and no service starts.
 * @returns the folder, or undefined if the packages cannot be downloaded here
 */
export function unpackPackages(packages: readonly string[], target: string): string | undefined {
  if (existsSync(target)) return target;
  if (!hasApt()) return undefined;
  const draft = `${target}.${process.pid}`;
  const archives = join(draft, "archives");
  const content = join(draft, "content");
  try {
    const wanted = [
      "install",
      "-y",
      "--download-only",
      "--no-install-recommends",
      "--reinstall",
      ...packages,
    ];
    if (download(draft, ...wanted).status !== 0) return undefined;
    for (const name of readdirSync(archives).filter((one) => one.endsWith(".deb")))
      spawnSync("dpkg-deb", ["-x", join(archives, name), content]);
    renameSync(content, target);
    relink(target);
    return target;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Extracts one program from a Debian package. The package is not installed, so none of its services starts.
 * @param program its path in the package, such as `usr/bin/caddy`
 */
export function extractProgram(name: string, program: string, target: string): void {
  const help = `The tests need ${name}, which was not found. Install it`;
  if (!hasApt()) throw new Failure(`${help}.`);
  const work = mkdtempSync(join(tmpdir(), `${name}-`));
  try {
    const result = download(work, "download", name);
    const file = readdirSync(work).find((one) => one.endsWith(".deb"));
    if (result.status !== 0 || file === undefined)
      throw new Failure(`${help}: "apt-get download ${name}" failed here (${lastLine(result.stderr)})`);
    spawnSync("dpkg-deb", ["-x", join(work, file), join(work, "x")]);
    const found = join(work, "x", program);
    if (!existsSync(found)) throw new Failure(`The package ${name} has no ${basename(program)}.`);
    mkdirSync(dirname(target), { recursive: true });
    const draft = `${target}.${process.pid}`;
    copyFileSync(found, draft);
    renameSync(draft, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
