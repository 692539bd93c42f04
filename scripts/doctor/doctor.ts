/**
 * `npm run doctor` checks the machine, the brokers and the public URL, and says how to repair what is wrong. With
 * `--deep`, it also reads all stored data.
 */
import { prepareDataDir, readRunning } from "../config/data-dir.ts";
import { readSettings } from "../config/settings.ts";
import { scriptDeps } from "../platform/deps.ts";
import { brokerVariables, commonBindings } from "../platform/platform.ts";
import { withStore } from "../platform/prepare-broker.ts";
import { runningPlatformOf } from "../platform/running-platform.ts";
import { readArguments } from "../process/arguments.ts";
import { exitWith, Failure } from "../process/failure.ts";
import { accept } from "./accept.ts";
import { checkAddresses, checkClock, checkRights, checkSystem, checkWrites } from "./broker.ts";
import { checkData, checkKnownLosses, checkRecord } from "./deep.ts";
import { type Finding, fail, lineOf, messageOf } from "./finding.ts";
import { checkHooks } from "./hooks.ts";
import { checkCertificate, checkDisk, checkHost, checkKeys, checkSettings } from "./machine.ts";
import { checkOrbs } from "./orbs.ts";
import { checkPages } from "./pages.ts";
import { checkStreams } from "./streams.ts";

const found: Finding[] = [];

/** Runs one check and prints its findings. An error in the check itself is also a finding. */
async function check(
  about: string,
  run: () => Finding | Finding[] | Promise<Finding | Finding[]>,
): Promise<void> {
  let findings: Finding | Finding[];
  try {
    findings = await run();
  } catch (error) {
    findings =
      error instanceof Failure
        ? { level: "fail", about, says: error.message }
        : fail(about, `The check could not run (${messageOf(error)}).`, "Repair what failed above first.");
  }
  for (const finding of [findings].flat()) {
    found.push(finding);
    console.log(lineOf(finding));
  }
}

try {
  const usage = "npm run doctor -- [--deep] [--accept-loss <stream>]";
  const { flags, options } = readArguments(usage, [], ["deep"], ["accept-loss"]);
  const settings = readSettings(process.env);
  const { dataDir } = settings;
  const accepted = options["accept-loss"];
  if (accepted !== undefined) {
    console.log(await accept(settings, accepted));
    process.exit(0);
  }
  prepareDataDir(dataDir);
  const running = readRunning(dataDir);
  const publicUrl =
    process.env.PUBLIC_URL === undefined ? (running?.url ?? settings.publicUrl) : settings.publicUrl;

  await check("settings", () => checkSettings({ ...settings, publicUrl }));
  await check("keys", () => checkKeys(dataDir));
  await check("disk", () => checkDisk(dataDir));
  await check("record", () => checkRecord(dataDir, settings.external !== undefined));
  // If the keys are damaged, another check reports it. This script then cannot connect to the platform's broker.
  const platform = await runningPlatformOf(settings, running, "fn").catch(() => undefined);
  if (platform === undefined) {
    await check("broker", () =>
      fail(
        "broker",
        `No platform with the data folder ${dataDir} is running, and NATS_URL is not set.`,
        "Run npm start or npm run host first, or name the broker with NATS_URL.",
      ),
    );
  } else {
    const { access } = platform;
    const { replicas } = platform.settings;
    const encrypted = access.url.split(",").filter((url) => url.trim().startsWith("wss:"));
    for (const url of encrypted) await check("tls", () => checkCertificate(url.trim()));
    await check("broker", () => checkAddresses(access, replicas));
    const isReachable = found.some(({ about, level }) => about === "broker" && level === "ok");
    if (isReachable) {
      await withStore(access, replicas, async (store) => {
        await check("clock", () => checkClock(store));
        await check("writes", () => checkWrites(store));
        await check("rights", () => checkRights(store, access.user));
        await check("replicas", () => checkStreams(store, replicas));
        await check("orbs", () => checkOrbs(store));
        await check("hooks", () => checkHooks(store));
        await check("record", () => checkKnownLosses(store, dataDir));
        if (flags.deep) {
          const bindings = commonBindings(platform.settings, platform.secrets);
          const deps = scriptDeps(store, { ...bindings, ...brokerVariables(access) });
          await check("data", () => checkData(deps));
        }
      });
      const system = process.env.NATS_SYSTEM_PASS;
      if (system) await check("disk", () => checkSystem(access, system));
    }
  }
  if (publicUrl.startsWith("https:")) await check("tls", () => checkCertificate(publicUrl));
  await check("host", () => checkHost(publicUrl));
  await check("pages", () => checkPages(publicUrl));

  const faults = found.filter(({ level }) => level === "fail").length;
  const warnings = found.filter(({ level }) => level === "warn").length;
  console.log(`\n${found.length} checks, ${faults} failed, ${warnings} with a warning.`);
  process.exit(faults > 0 ? 1 : 0);
} catch (error) {
  exitWith(error);
}
