/** `npm test [-- vitest arguments]`: gets what the tests need, then runs them on real parts. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBroker } from "./broker/find.ts";
import { ensureChromium } from "./chromium.ts";
import { exitWith } from "./failure.ts";
import { brokerCaches } from "./platform.ts";
import { readSettings } from "./settings.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const say = (line: string) => console.error(line);

/** The tests choose their own settings: what this shell has for `npm start` must not reach them. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  for (const name of [
    "PORT",
    "STREAMS_PORT",
    "HOST",
    "DATA_DIR",
    "PUBLIC_URL",
    "ALLOWED_ORIGINS",
    "LOG_LEVEL",
    "STREAMS_URL",
  ]) {
    delete env[name];
  }
  for (const name of Object.keys(env)) {
    if (/^(NATS_|JWT_|ENCRYPTION_|CLAIM_|METRICS_)/.test(name)) delete env[name];
  }
  // What they may take over: on how many brokers each platform of theirs runs, and how its functions reach them.
  if (process.env.NATS_BROKERS) env.TEST_BROKERS = process.env.NATS_BROKERS;
  if (process.env.NATS_LINK) env.TEST_LINK = process.env.NATS_LINK;
  if (process.env.PLATFORM_HOST) env.TEST_HOST = process.env.PLATFORM_HOST;
  return env;
}

try {
  const broker = findBroker({
    explicit: process.env.NATS_SERVER_BIN,
    path: process.env.PATH,
    caches: brokerCaches(readSettings(process.env).dataDir).reverse(),
    say,
  });
  const chromium = ensureChromium(say);
  const vitest = spawn(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...cleanEnvironment(), NATS_SERVER_BIN: broker, CHROMIUM_BIN: chromium },
    },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => vitest.kill(signal));
  vitest.on("exit", (code) => process.exit(code ?? 1));
} catch (error) {
  exitWith(error);
}
