import type { Deps } from "../../shared/deps.ts";
import type { ConnectOptions } from "../../shared/store/client/index.ts";
import { type Running, readRunning } from "../config/data-dir.ts";
import { loadSecrets, type Secrets } from "../config/secrets.ts";
import type { Settings } from "../config/settings.ts";
import { Failure } from "../process/failure.ts";
import { scriptDeps } from "./deps.ts";
import { brokerVariables, commonBindings } from "./platform.ts";
import { withStore } from "./prepare-broker.ts";

export interface RunningPlatform {
  settings: Settings;
  secrets: Secrets;
  access: ConnectOptions;
}

/**
 * Returns access to the broker of a running platform, or to an external broker. The lock file of the running platform
 * names its broker, because this script may have other settings.
 * @returns undefined if no platform runs and the settings name no external broker
 */
export async function runningPlatformOf(
  settings: Settings,
  running: Running | undefined,
  user: keyof Secrets["broker"],
): Promise<RunningPlatform | undefined> {
  const { dataDir, external } = settings;
  if (external !== undefined) return { settings, secrets: await loadSecrets(dataDir), access: external };
  if (running?.natsWsUrl === undefined) return undefined;
  const secrets = await loadSecrets(dataDir);
  return {
    settings: { ...settings, replicas: running.replicas ?? settings.replicas },
    secrets,
    access: { url: running.natsWsUrl, user, pass: secrets.broker[user] },
  };
}

/** Gives a script access to the broker of a running platform, or to an external broker. */
export async function withRunningPlatform<T>(
  settings: Settings,
  user: keyof Secrets["broker"],
  act: (deps: Deps) => Promise<T>,
): Promise<T> {
  const { dataDir, publicUrl } = settings;
  const running = readRunning(dataDir);
  const found = await runningPlatformOf(settings, running, user);
  if (found === undefined)
    throw new Failure(
      `No platform with the data folder ${dataDir} is running. Run npm start first, or name its folder with DATA_DIR=….`,
    );
  const variables = {
    ...commonBindings(found.settings, found.secrets),
    ...brokerVariables(found.access),
    PUBLIC_URL: running?.url ?? publicUrl,
  };
  return withStore(found.access, found.settings.replicas, (store) => act(scriptDeps(store, variables)));
}
