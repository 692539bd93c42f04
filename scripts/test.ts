/**
 * `npm test [-- vitest arguments]` installs what the tests need, then runs the tests. `npm test -- --quick` runs those
 * that find most mistakes within three minutes, to use before each commit.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testEnvironment } from "./config/settings.ts";
import { lastingBroker } from "./platform/platform.ts";
import { exitWith } from "./process/failure.ts";
import { ensureChromium, ensureCurl } from "./tools/chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Tests of all modules, of all verbs on a real broker, and of the main routes on workerd. */
const QUICK = [
  "test/unit",
  "test/store",
  ...["tour", "orbs", "runtime-read", "access-attacks", "handlers"].map(
    (name) => `test/http/${name}.test.ts`,
  ),
];
const say = (line: string) => console.error(line);

try {
  const given = process.argv.slice(2);
  const args = given.flatMap((arg) => (arg === "--quick" ? QUICK : [arg]));
  const broker = lastingBroker(say);
  const chromium = ensureChromium(say);
  ensureCurl(say);
  const vitest = spawn(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...testEnvironment(process.env), NATS_SERVER_BIN: broker, CHROMIUM_BIN: chromium },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => vitest.kill(signal));
  vitest.on("exit", (code) => process.exit(code ?? 1));
} catch (error) {
  exitWith(error);
}
