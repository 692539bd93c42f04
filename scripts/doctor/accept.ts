/** `npm run doctor -- --accept-loss <stream>`: an operator keeps a stream as it is after a loss. */
import { setTimeout as delay } from "node:timers/promises";
import { findsFence, forgetLoss, knownLosses, orbOfLoss } from "../../shared/definition/stored/index.ts";
import { RESTART_ADVICE } from "../../shared/verify/damage.ts";
import { readRunning } from "../config/data-dir.ts";
import type { Settings } from "../config/settings.ts";
import { scriptDeps } from "../platform/deps.ts";
import { brokerVariables, commonBindings } from "../platform/platform.ts";
import { withStore } from "../platform/prepare-broker.ts";
import { runningPlatformOf } from "../platform/running-platform.ts";
import { Failure } from "../process/failure.ts";
import { acceptLoss, readLosses, removeLoss } from "../verify/losses.ts";

/** The running platform looks at its record every 10 seconds. A look can take long if there is much data. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 200;

const isOpen = (dataDir: string, stream: string) =>
  readLosses(dataDir).some((loss) => loss.stream === stream);

/** Waits until the running platform has forgotten the loss. Returns false if it has not in time. */
async function forgotten(dataDir: string, stream: string): Promise<boolean> {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await delay(LOOK_MS)) {
    if (!isOpen(dataDir, stream)) return true;
  }
  return false;
}

/**
 * Accepts the loss of a stream, and allows the writes that it blocks.
 * @returns what to tell the operator
 * @throws Failure if no loss of the stream is known
 */
export async function accept(settings: Settings, stream: string): Promise<string> {
  const { dataDir } = settings;
  const done = `The stream ${stream} counts as complete as it is. Its record begins anew, and writes go on.`;
  const running = readRunning(dataDir);
  const isOwn = acceptLoss(dataDir, stream);
  if (isOwn && running !== undefined) {
    if (await forgotten(dataDir, stream)) return done;
    return `The loss of the stream ${stream} is accepted. The running platform forgets it as soon as its broker answers.`;
  }
  const platform = await runningPlatformOf(settings, running, "fn");
  if (platform === undefined) {
    if (isOwn)
      return `The loss of the stream ${stream} is accepted. The next start of the platform forgets it.`;
    throw notKnown(stream, readLosses(dataDir));
  }
  const { access, secrets } = platform;
  const bindings = commonBindings(platform.settings, secrets);
  const orb = orbOfLoss({ stream });
  const isFound = await withStore(access, platform.settings.replicas, async (store) => {
    const deps = scriptDeps(store, { ...bindings, ...brokerVariables(access) });
    if (!(await forgetLoss(deps, stream)) && !isOwn) throw notKnown(stream, await knownLosses(deps));
    return orb === undefined || (await findsFence(deps, orb));
  });
  if (isOwn) removeLoss(dataDir, stream);
  return isFound ? done : `${done} ${RESTART_ADVICE}`;
}

function notKnown(stream: string, losses: readonly { stream: string }[]): Failure {
  const names = losses.map((loss) => loss.stream).join(", ");
  return new Failure(
    `No loss of the stream ${stream} is known. ${names === "" ? "No stream has one." : `Name one of ${names}.`}`,
  );
}
