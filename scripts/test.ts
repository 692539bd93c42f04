/** `npm test [-- vitest arguments]` installs what the tests need, then runs the tests. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testEnvironment } from "./config/settings.ts";
import { lastingBroker } from "./platform/platform.ts";
import { exitWith } from "./process/failure.ts";
import { ensureChromium, ensureCurl } from "./tools/chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const say = (line: string) => console.error(line);

try {
  const broker = lastingBroker(say);
  const chromium = ensureChromium(say);
  ensureCurl(say);
  const vitest = spawn(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...testEnvironment(process.env), NATS_SERVER_BIN: broker, CHROMIUM_BIN: chromium },
    },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => vitest.kill(signal));
  vitest.on("exit", (code) => process.exit(code ?? 1));
} catch (error) {
  exitWith(error);
}
