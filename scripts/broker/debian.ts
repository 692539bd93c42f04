import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { isRecentEnough, versionOf } from "./version.ts";

/** Where a distribution's newer packages are, and which keys sign them. */
interface Source {
  suites: string[];
  component: string;
  keyring: string;
}

const SOURCES: Record<string, Source> = {
  debian: {
    suites: ["forky", "sid"],
    component: "main",
    keyring: "/usr/share/keyrings/debian-archive-keyring.gpg",
  },
  ubuntu: {
    suites: ["devel"],
    component: "universe",
    keyring: "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
  },
};

/** The distribution in os-release terms when it is one with a source here. */
function distribution(): { name: string; source: Source } | undefined {
  if (!existsSync("/etc/os-release")) return undefined;
  const text = readFileSync("/etc/os-release", "utf8");
  const value = (key: string) => new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(text)?.[1] ?? "";
  for (const name of [value("ID"), ...value("ID_LIKE").split(" ")]) {
    const source = SOURCES[name];
    if (source !== undefined) return { name, source };
  }
  return undefined;
}

/** True on a system whose own package manager this module can use. */
export function isSupported(): boolean {
  return distribution() !== undefined && spawnSync("apt-get", ["--version"]).status === 0;
}

/** Addresses of the machine's own mirrors of the distribution's main archive, as apt is configured. */
function mirrors(name: string): string[] {
  const label = name === "ubuntu" ? "Ubuntu" : "Debian";
  const format = "$(ORIGIN)|$(CODENAME)|$(REPO_URI)";
  const listed = spawnSync("apt-get", ["indextargets", "--format", format, "Created-By: Packages"], {
    encoding: "utf8",
  });
  const found = (listed.stdout ?? "")
    .split("\n")
    .map((line) => line.split("|"))
    .filter(([origin, , uri]) => (origin === label || origin === "$(ORIGIN)") && uri !== undefined)
    // The security archive holds no newer suites.
    .filter(([, codename = "", uri = ""]) => !/security/.test(`${codename} ${uri}`))
    .map(([, , uri = ""]) => uri);
  return [...new Set(found)];
}

/**
 * Downloads the distribution's own newer nats-server and unpacks the binary to `target`. apt runs with a private
 * state in a temporary folder, so that no system package, source list or cache changes and no root is needed; it
 * verifies the archive's signature with the keyring that the machine has, and the package by the archive's hashes.
 * @returns what was tried and why it failed, one line each; an empty list means that `target` is there
 */
export function obtain(target: string): string[] {
  const found = distribution();
  if (found === undefined) return ["this is neither Debian nor Ubuntu"];
  const { name, source } = found;
  if (!existsSync(source.keyring)) return [`the keyring ${source.keyring} is missing`];
  const addresses = mirrors(name);
  if (addresses.length === 0)
    return ["apt has no mirror of the distribution configured (apt-get indextargets lists none)"];
  const problems: string[] = [];
  for (const address of addresses) {
    for (const suite of source.suites) {
      const problem = tryOne({ address, suite, source, target });
      if (problem === undefined) return [];
      problems.push(`${suite}: ${problem}`);
    }
  }
  return problems;
}

interface Attempt {
  address: string;
  suite: string;
  source: Source;
  target: string;
}

/** Returns why it did not work, or undefined when the binary is in place. */
function tryOne({ address, suite, source, target }: Attempt): string | undefined {
  const work = mkdtempSync(join(tmpdir(), "nats-server-"));
  try {
    mkdirSync(join(work, "state/lists/partial"), { recursive: true });
    mkdirSync(join(work, "cache/archives/partial"), { recursive: true });
    writeFileSync(join(work, "status"), "");
    writeFileSync(
      join(work, "sources.list"),
      `deb [signed-by=${source.keyring}] ${address} ${suite} ${source.component}\n`,
    );
    const options = [
      `Dir::State=${work}/state`,
      `Dir::State::status=${work}/status`,
      `Dir::Cache=${work}/cache`,
      `Dir::Etc::SourceList=${work}/sources.list`,
      "Dir::Etc::SourceParts=/dev/null",
      "Dir::Etc::Preferences=/dev/null",
      "Dir::Etc::PreferencesParts=/dev/null",
      // The folder is ours alone, so the downloader cannot change to another user.
      `APT::Sandbox::User=${userInfo().username}`,
      "Acquire::Languages=none",
      "Acquire::Retries=2",
    ].flatMap((option) => ["-o", option]);
    const apt = (...args: string[]) =>
      spawnSync("apt-get", [...options, ...args], {
        cwd: work,
        encoding: "utf8",
        timeout: 300_000,
        env: { ...process.env, LC_ALL: "C" },
      });

    // With a private list of one source, an update that failed can still answer 0: a warning counts as failure.
    const update = apt("update", "-q", "-o", "APT::Update::Error-Mode=any");
    if (update.status !== 0) return lastLine(update.stderr) ?? "the package list could not be read";
    const download = apt("download", "-q", "nats-server");
    const packageFile = readdirSync(work).find((file) => file.endsWith(".deb"));
    if (download.status !== 0 || packageFile === undefined)
      return lastLine(download.stderr) ?? "there is no package nats-server";
    const unpack = spawnSync("dpkg-deb", ["-x", join(work, packageFile), join(work, "x")], {
      encoding: "utf8",
    });
    if (unpack.status !== 0) return lastLine(unpack.stderr) ?? "the package could not be unpacked";
    return install(join(work, "x/usr/sbin/nats-server"), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Puts the binary in its place in one step, so that another start never finds half of it. */
function install(binary: string, target: string): string | undefined {
  if (!existsSync(binary)) return "the package holds no /usr/sbin/nats-server";
  const version = versionOf(binary);
  if (version === undefined) return "the package's binary does not run on this system";
  if (!isRecentEnough(version)) return `the package is ${version}, which is too old`;
  const draft = `${target}.${process.pid}`;
  copyFileSync(binary, draft);
  chmodSync(draft, 0o755);
  renameSync(draft, target);
  return undefined;
}

function lastLine(text: string | null): string | undefined {
  return text
    ?.trim()
    .split("\n")
    .filter((line) => /^[EW]:/.test(line))
    .at(-1)
    ?.slice(3);
}
