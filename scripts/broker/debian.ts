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

/** Where to find newer releases of a Linux distribution, and the key file that verifies their packages. */
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

export function isSupported(): boolean {
  return distribution() !== undefined && spawnSync("apt-get", ["--version"]).status === 0;
}

/** Returns the URLs of the package mirrors in this machine's apt configuration. */
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
    // The security archive has no newer releases, so skip it.
    .filter(([, codename = "", uri = ""]) => !/security/.test(`${codename} ${uri}`))
    .map(([, , uri = ""]) => uri);
  return [...new Set(found)];
}

/**
 * Downloads a newer nats-server from the distribution. Needs no root access, because apt works in a temporary folder.
 * @returns one line per failed attempt; empty on success
 */
export function obtain(target: string): string[] {
  const found = distribution();
  if (found === undefined) return ["this system is neither Debian nor Ubuntu"];
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
      // By default, apt downloads as another user, who cannot read this private folder. So let it use this user.
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

    // apt may exit with 0 although the update failed. This option makes it report every warning as a failure.
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

/**
 * Moves the binary into place atomically, so that a process that starts it at the same time never finds half a file.
 */
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
