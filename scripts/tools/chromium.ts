import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "../process/failure.ts";
import { hasApt, installPackages } from "./packages.ts";

/** The browser without a window. It is the same engine, and takes half the processor time of the whole browser. */
const SHELL = "chromium-headless-shell";
const NAMES = [SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const MAC = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

export function findChromium(): string | undefined {
  const explicit = process.env.CHROMIUM_BIN;
  if (explicit !== undefined && explicit !== "") {
    if (!existsSync(explicit))
      throw new Failure(`CHROMIUM_BIN=${explicit} does not exist. Correct or unset it.`);
    return explicit;
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...candidates, ...(process.platform === "darwin" ? MAC : [])].find((path) => existsSync(path));
}

/** Finds Chromium for the tests, or installs the distribution's package if the user may. */
export function ensureChromium(say: (line: string) => void): string {
  const found = findChromium();
  if (found !== undefined) return found;
  const help = "The tests need Chromium, which was not found. Install it, or set CHROMIUM_BIN to its path";
  if (!hasApt()) {
    const how =
      process.platform === "darwin" ? "brew install --cask chromium" : "winget install Hibbiki.Chromium";
    throw new Failure(process.platform === "linux" ? `${help}.` : `${help}: ${how}`);
  }
  say("Installing Chromium with apt-get …");
  const install = (name: string) => installPackages([name, "fonts-liberation"]);
  const shellFault = install(SHELL);
  // Some distributions have no package for the shell.
  const fault = shellFault !== undefined && "failed" in shellFault ? install("chromium") : shellFault;
  const installed = findChromium();
  if (fault === undefined && installed !== undefined) return installed;
  if (fault !== undefined && "need" in fault) throw new Failure(`${help}: sudo apt-get install -y ${SHELL}`);
  throw new Failure(`${help}: "apt-get install -y chromium" failed here (${fault?.failed ?? ""})`);
}

/** Installs curl if it is missing, because tests run the commands in docs/. */
export function ensureCurl(say: (line: string) => void): void {
  if (spawnSync("curl", ["--version"]).status === 0) return;
  const help = "The tests of the documentation need curl, which was not found. Install it";
  if (!hasApt()) throw new Failure(`${help}.`);
  say("Installing curl with apt-get …");
  const fault = installPackages(["curl", "ca-certificates"]);
  if (fault === undefined) return;
  if ("need" in fault) throw new Failure(`${help}: sudo apt-get install -y curl`);
  throw new Failure(`${help}: "apt-get install -y curl" failed here (${fault.failed})`);
}
