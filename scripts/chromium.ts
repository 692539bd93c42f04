import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./failure.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const MAC = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Path of Chromium: CHROMIUM_BIN, the PATH, or a usual location; undefined if there is none. */
export function findChromium(): string | undefined {
  const explicit = process.env.CHROMIUM_BIN;
  if (explicit !== undefined && explicit !== "") {
    if (!existsSync(explicit)) throw new Failure(`CHROMIUM_BIN=${explicit} does not exist.`);
    return explicit;
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...candidates, ...(process.platform === "darwin" ? MAC : [])].find((path) => existsSync(path));
}

/**
 * Finds a Chromium for the tests, or installs the distribution's package if this user may.
 * @throws Failure with one line that says what to install
 */
export function ensureChromium(say: (line: string) => void): string {
  const found = findChromium();
  if (found !== undefined) return found;
  const help = "The tests need Chromium and found none. Install it, or set CHROMIUM_BIN to its path";
  if (spawnSync("apt-get", ["--version"]).status !== 0) {
    const how =
      process.platform === "darwin" ? "brew install --cask chromium" : "winget install Hibbiki.Chromium";
    throw new Failure(process.platform === "linux" ? `${help}.` : `${help}: ${how}`);
  }
  const root = process.getuid?.() === 0;
  // Never prompt for a password: a test run must not block.
  if (!root && spawnSync("sudo", ["-n", "true"]).status !== 0) {
    throw new Failure(`${help}: sudo apt-get install -y chromium`);
  }
  say("Installing Chromium with apt-get …");
  const apt = (...args: string[]) => {
    const command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", ...args];
    const [first = "apt-get", ...rest] = root
      ? command
      : ["sudo", "-n", "DEBIAN_FRONTEND=noninteractive", ...command];
    return spawnSync(first, rest, {
      encoding: "utf8",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  };
  const install = () => apt("install", "-y", "--no-install-recommends", "chromium", "fonts-liberation");
  let result = install();
  if (result.status !== 0) {
    // The package lists may be missing (in a container) or outdated.
    apt("update");
    result = install();
  }
  const installed = findChromium();
  if (result.status === 0 && installed !== undefined) return installed;
  const why = result.stderr?.trim().split("\n").at(-1) ?? "";
  throw new Failure(`${help}: "apt-get install -y chromium" failed here (${why})`);
}
