/**
 * `npm run host` runs the platform in a long-lived Node process. Uses the broker of a running platform, or starts one.
 */
import { join } from "node:path";
import { type Running, readRunning } from "./config/data-dir.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { serveProcess } from "./host/process.ts";
import { announce } from "./platform/announce.ts";
import {
  brokerVariables,
  builtPrograms,
  commonBindings,
  startPlatform,
  terminalAndFile,
} from "./platform/platform.ts";
import { runningPlatformOf } from "./platform/running-platform.ts";
import { refuseArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";
import { requirePort } from "./process/ports.ts";
import { step } from "./process/progress.ts";
import { type Stoppable, stopRequest, untilStopped } from "./process/stop.ts";

const say = (line: string) => console.error(line);

const OWN = ["HOST_CACHE_MIB", "HOST_CONTENT_MIB", "HOST_DRAIN_SECONDS"];

function ownVariables(): Record<string, string> {
  return Object.fromEntries(OWN.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

interface Serving extends Stoppable {
  announce(): void;
}

async function serveNextTo(settings: Settings, running: Running): Promise<Serving> {
  const { dataDir, host, port } = settings;
  await requirePort(port, "PORT", host);
  const beside = await runningPlatformOf(settings, running, "fn");
  if (beside === undefined) {
    throw new Failure(
      running.url === undefined
        ? `The platform on ${dataDir} is still starting. Try again once it is ready.`
        : `The platform on ${dataDir} uses an external broker. Set NATS_URL here too.`,
    );
  }
  const publicUrl =
    process.env.PUBLIC_URL === undefined ? (running.url ?? settings.publicUrl) : settings.publicUrl;
  const programs = await step(say, "the console and the host to be built", () =>
    builtPrograms(dataDir, "node", process.env.PROGRAMS_DIR),
  );
  const failed = Promise.withResolvers<Failure>();
  const { url, stop } = await serveProcess({
    programs,
    givenUp: failed.resolve,
    host,
    port,
    bindings: {
      // Tokens are valid for one public URL only. So by default, use the same URL as the running platform.
      ...commonBindings({ ...beside.settings, publicUrl }, beside.secrets),
      ...brokerVariables(beside.access),
      ...ownVariables(),
    },
    log: terminalAndFile(join(dataDir, "logs", "host.log"), settings, say),
  });
  const announce = () => console.log(`\nReady at ${url}, on the running platform's broker`);
  return { stop, announce, failed: failed.promise };
}

async function serveAll(settings: Settings, signal: AbortSignal): Promise<Serving> {
  const platform = await startPlatform(settings, {
    natsServer: process.env.NATS_SERVER_BIN,
    programs: process.env.PROGRAMS_DIR,
    signal,
    say,
    target: "node",
    serve: ({ bindings: { CLIENT_ADDRESS: _, ...bindings }, ...options }) =>
      serveProcess({ ...options, bindings: { ...bindings, ...ownVariables() } }),
  });
  return { stop: () => platform.stop(), announce: () => announce(platform), failed: platform.failed };
}

const stopped = stopRequest();
try {
  refuseArguments("npm run host");
  const settings = readSettings(process.env);
  const beside = readRunning(settings.dataDir);
  const serving = await (beside ? serveNextTo(settings, beside) : serveAll(settings, stopped));
  if (!stopped.aborted) serving.announce();
  await untilStopped(serving, stopped);
  process.exit(0);
} catch (error) {
  if (stopped.aborted) process.exit(0);
  exitWith(error);
}
