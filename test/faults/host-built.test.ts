/**
 * What production starts: the built host by each documented command, with every page and file that it serves. The tests
 * of `npm start`, of the unit and of the image build the programs, and the others use those of the test run.
 */
import { execFileSync, spawn } from "node:child_process";
import { chownSync, cpSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readRunning } from "../../scripts/config/data-dir.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { tempDir } from "../support/broker.ts";
import { crawl } from "../support/crawl.ts";
import { testPrograms } from "../support/programs.ts";
import { runScript, type Started, settings, watched } from "../support/start.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const text = (path: string) => readFileSync(join(root, path), "utf8");

/** Returns the installation's files, as a clone or `COPY . .` has them, with the packages that npm ci installs. */
function installation(without: readonly string[] = []): string {
  const folder = join(tempDir("installation"), "platform");
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of list.toString().trim().split("\n")) {
    if (without.some((name) => file === name || file.startsWith(`${name}/`))) continue;
    cpSync(join(root, file), join(folder, file), { force: true, errorOnExist: false });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Runs a command in a folder, with only these variables and PATH. In the checkout, also with Node's compile cache. */
function runIn(cwd: string, [command = "", ...args]: string[], env: Record<string, string>): Started {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const cache = cwd === root ? { NODE_COMPILE_CACHE } : {};
  const variables = { PATH, ...cache, NATS_SERVER_BIN: lastingBroker(), ...env };
  return watched(spawn(command, args, { cwd, env: variables, stdio: ["ignore", "pipe", "pipe"] }));
}

/** Returns the process id of a platform's host, which its parent started. */
function hostOf(parent: number): number {
  const found = readdirSync("/proc").find((pid) => {
    try {
      return (
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("platform-host.mjs") &&
        readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1] === String(parent)
      );
    } catch {
      return false;
    }
  });
  return Number(found);
}

const consoleFiles = (dataDir: string) => {
  const [run = ""] = readdirSync(join(dataDir, "run"));
  const names = readdirSync(join(dataDir, "run", run, "assets", "console"));
  return names.filter((name) => !name.endsWith(".txt")).map((name) => `/console/assets/${name}`);
};

test("npm run host serves every page and file beside npm start, and with an outside broker, as npm start does", async () => {
  const env = await settings();
  await using start = runIn(root, ["npm", "start"], env);
  await start.printed(/ready at/);
  const served = await crawl(`http://localhost:${env.PORT}`);
  const PROGRAMS_DIR = testPrograms();
  const port = String(await freePort());
  await using beside = runIn(root, ["npm", "run", "host"], { ...env, PORT: port, PROGRAMS_DIR });
  await beside.printed(/Ready at/);
  expect(await crawl(`http://localhost:${port}`)).toEqual(served);

  const dataDir = tempDir("outside");
  cpSync(join(String(env.DATA_DIR), "secrets.json"), join(dataDir, "secrets.json"));
  const { natsUrl = "", natsWsUrl = "" } = readRunning(String(env.DATA_DIR)) ?? {};
  const outside = await settings({
    PROGRAMS_DIR,
    DATA_DIR: dataDir,
    NATS_URL: natsWsUrl,
    NATS_USER: "operator",
    NATS_PASS: new URL(natsUrl).password,
  });
  await using other = runIn(root, ["npm", "run", "host"], outside);
  await other.printed(/ready at/);
  expect(await crawl(`http://localhost:${outside.PORT}`)).toEqual(served);
}, 240_000);

test("the unit's command serves every page and file, goes on when its installation is replaced, and ends when its programs are gone", async () => {
  const unit = text("scripts/server/systemd/platform.service");
  const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  expect(settingOf("WorkingDirectory")).toBe("/opt/platform");
  const [node, ...args] = settingOf("ExecStart").split(" ");
  expect(node).toBe("/usr/bin/node");
  const folder = installation();
  const variables = Object.fromEntries(
    settingOf("Environment")
      .split(" ")
      .map((pair) => pair.split("=") as [string, string]),
  );
  const env = await settings({ ...variables, DATA_DIR: tempDir("unit"), HOST_DRAIN_SECONDS: "0" });
  await using unitProcess = runIn(folder, [process.execPath, ...args], env);
  await unitProcess.printed(/ready at/);
  const origin = `http://localhost:${env.PORT}`;
  const served = await crawl(origin);
  // The crawl finds each file of the console that was built, so it would notice a missing one.
  const files = consoleFiles(String(env.DATA_DIR));
  expect(files.length).toBeGreaterThan(8);
  expect(served).toEqual(expect.arrayContaining(files));

  // The host starts again without any file of its installation.
  rmSync(folder, { recursive: true, force: true });
  const parent = readRunning(String(env.DATA_DIR))?.pid ?? 0;
  const first = hostOf(parent);
  process.kill(first, "SIGKILL");
  await expect.poll(() => hostOf(parent) > 0 && hostOf(parent) !== first).toBe(true);
  await expect
    .poll(() =>
      fetch(`${origin}/api/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true);
  expect(await crawl(origin)).toEqual(served);
  expect(unitProcess.output()).toContain("it exited with SIGKILL");

  // The service manager starts a host that ended anew. The reason is in its log.
  rmSync(join(String(env.DATA_DIR), "run"), { recursive: true });
  process.kill(hostOf(parent), "SIGKILL");
  expect(await unitProcess.exited()).toBe(1);
  expect(unitProcess.output()).toMatch(
    /^The host did not start: Error: Cannot find module '\S+platform-host\.mjs'$/m,
  );
  expect(unitProcess.output()).not.toMatch(/"why":"[^"]*Node\.js v/);
  // A start repairs it.
  await using again = runScript("host", env);
  await again.printed(/ready at/);
}, 240_000);

test("the image's entry point serves every page and file, as a user who cannot write to the installation", async () => {
  const steps = text("Dockerfile")
    .split("\n")
    .filter((line) => /^[A-Z]/.test(line));
  const list = (name: string): string[] =>
    JSON.parse(steps.find((line) => line.startsWith(`${name} [`))?.slice(name.length) ?? "[]");
  const variables = Object.fromEntries(
    (steps.find((line) => line.startsWith("ENV ")) ?? "")
      .slice(4)
      .split(" ")
      .map((pair) => pair.split("=") as [string, string]),
  );
  expect(variables).toMatchObject({ HOST: "0.0.0.0", DATA_DIR: "/data" });
  const folder = installation(text(".dockerignore").trim().split("\n"));
  const dataDir = tempDir("image");
  // The image's user: not root, if the tests may choose.
  const uid = process.getuid?.() === 0 ? 65_534 : undefined;
  if (uid !== undefined) {
    for (let up = join(dataDir, ".."); up.includes("platform-test-"); up = join(up, ".."))
      execFileSync("chmod", ["a+x", up]);
    execFileSync("chmod", ["-R", "a+rX", join(folder, "..")]);
    chownSync(dataDir, uid, uid);
  }
  const env = { ...variables, ...(await settings({ DATA_DIR: dataDir, HOST: "127.0.0.1" })) };
  const [node = "", ...entry] = [...list("ENTRYPOINT"), ...list("CMD")];
  expect(node).toBe("node");
  // What compose.yaml sets: no capabilities, and none to gain.
  const bounded = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"];
  const user = [`--reuid=${uid}`, `--regid=${uid}`];
  const before = uid === undefined ? [] : ["setpriv", ...bounded, ...user, "--"];
  await using image = runIn(folder, [...before, process.execPath, ...entry], env);
  await image.printed(/ready at/);
  await crawl(`http://localhost:${env.PORT}`);
});
