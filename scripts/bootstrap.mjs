/**
 * Starts every npm script, with any Node from version 20 on. Installs the locked dependencies if they changed, then
 * runs `scripts/<name>.ts` in a child process with the pinned Node version.
 *
 * The child process has its own process group. When it ends, this script kills all processes that it started.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === "win32";
const pinnedNode = join(root, "node_modules", "node", "bin", windows ? "node.exe" : "node");

function fail(message) {
  console.error(message);
  process.exit(1);
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Returns whether node_modules matches package-lock.json, according to npm's record of the tree. */
function isInstalled() {
  const wanted = readJson(join(root, "package-lock.json"))?.packages;
  const present = readJson(join(root, "node_modules", ".package-lock.json"))?.packages;
  if (wanted === undefined) fail("package-lock.json is missing or damaged: restore it with git.");
  if (present === undefined || !existsSync(pinnedNode)) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true;
    const found = present[path];
    if (found === undefined)
      return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Runs `act` under a lock file, so that concurrent starts do not install at the same time. */
function withInstallLock(act) {
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const lock = join(tmpdir(), `composable-platform-install-${name}`);
  const owner = join(lock, "pid");
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") fail(`Cannot write to ${tmpdir()}: ${error.message}`);
    }
    const pid = Number(existsSync(owner) ? readFileSync(owner, "utf8") : 0);
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    // Remove the lock if its process has ended. A process gets ten seconds to write its id into the lock.
    if (pid > 0 ? !isAlive(pid) : age > 10_000) rmSync(lock, { recursive: true, force: true });
    else sleep(200);
  }
  writeFileSync(owner, String(process.pid));
  try {
    act();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function install() {
  if (isInstalled()) return;
  console.error(
    "Installing the locked dependencies. This takes half a minute or some minutes, and happens once for each version …",
  );
  // Every package is a development dependency, which npm leaves out if NODE_ENV is "production".
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  const cli = process.env.npm_execpath;
  const useCli = cli?.endsWith(".js") === true;
  const result = useCli
    ? spawnSync(process.execPath, [cli, ...args], { cwd: root, encoding: "utf8" })
    : spawnSync("npm", args, { cwd: root, encoding: "utf8", shell: windows });
  if (result.status !== 0) {
    const words = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}`.trim();
    fail(`${words}\n\nInstalling the dependencies failed: see the output of "npm ci" above.`);
  }
  if (!existsSync(pinnedNode)) {
    fail(
      'The pinned Node is missing after "npm ci": allow the install script of the package "node", then run "npm ci".',
    );
  }
}

const [name, ...args] = process.argv.slice(2);
const script = name === undefined ? undefined : join(root, "scripts", `${name}.ts`);
if (script === undefined || !existsSync(script)) {
  const commands = Object.keys(readJson(join(root, "package.json"))?.scripts ?? {}).join(", ");
  fail(
    `${name === undefined ? "Name a command" : `There is no command "${name}"`}: npm run has ${commands}.`,
  );
}
if (!isInstalled()) withInstallLock(install);

const bin = join(root, "node_modules", ".bin");
const child = spawn(pinnedNode, [script, ...args], {
  cwd: root,
  stdio: "inherit",
  detached: !windows,
  env: {
    ...process.env,
    PATH: `${bin}${windows ? ";" : ":"}${process.env.PATH ?? ""}`,
    NODE_NO_WARNINGS: "1",
  },
});

/** Kills all processes that the child process left behind. */
function endGroup(signal) {
  if (windows || child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // No process is left in the group.
  }
}

/** Returns the ids of the parent processes: npm, and the shell that npm may use. */
function ancestors() {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return String(parent);
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, "utf8");
    const shell = /\((ba|da|a|z)?sh\)/.test(stat);
    return shell ? `${parent} ${stat.split(") ").at(-1)?.split(" ")[1]}` : String(parent);
  } catch {
    return String(parent);
  }
}

/** Maximum milliseconds for stopping every process, including the time that hosts may need to drain. */
const STOP_LIMIT_MS = 15_000 + 1000 * (Number(process.env.HOST_DRAIN_SECONDS) || 0);

const born = ancestors();
let stoppingSince;
/**
 * Stops the child process. One Ctrl-C sends two signals, from npm and from the terminal. If another signal follows
 * after a second, the user does not want to wait.
 */
function stop(signal) {
  if (stoppingSince !== undefined) {
    if (Date.now() - stoppingSince >= 1000) endGroup("SIGKILL");
    return;
  }
  stoppingSince = Date.now();
  child.kill(signal);
  setTimeout(() => {
    console.error(`The process did not stop within ${STOP_LIMIT_MS / 1000} s. Killing it.`);
    endGroup("SIGKILL");
  }, STOP_LIMIT_MS).unref();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop(signal));
// A killed npm cannot forward signals to this script. If the parent process changes, npm has ended.
setInterval(() => {
  if (stoppingSince === undefined && ancestors() !== born) stop("SIGTERM");
}, 500).unref();

child.on("error", (error) => fail(`The pinned Node does not run: ${error.message}`));
child.on("exit", (code, signal) => {
  endGroup("SIGTERM");
  const status = code ?? (signal === "SIGINT" ? 130 : signal === "SIGTERM" ? 143 : 1);
  const deadline = Date.now() + 1000;
  (function wait() {
    if (groupIsEmpty()) process.exit(status);
    if (Date.now() > deadline) {
      endGroup("SIGKILL");
      process.exit(status);
    }
    setTimeout(wait, 20);
  })();
});

function groupIsEmpty() {
  if (windows || child.pid === undefined) return true;
  try {
    process.kill(-child.pid, 0);
    return false;
  } catch {
    return true;
  }
}
