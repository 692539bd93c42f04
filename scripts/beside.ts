import type { Deps } from "../shared/deps.ts";
import type { ConnectOptions } from "../shared/store/wire.ts";
import { readRunning } from "./data-dir.ts";
import { scriptDeps } from "./deps.ts";
import { Failure } from "./failure.ts";
import { brokerVariables, commonBindings, withStore } from "./platform.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";
import type { Settings } from "./settings.ts";

/**
 * Runs `act` beside a platform that is up: at the broker which it started, as one of its users, or at an external one.
 * @throws Failure when there is neither
 */
export async function besidePlatform<T>(
  settings: Settings,
  user: keyof Secrets["broker"],
  act: (deps: Deps) => Promise<T>,
): Promise<T> {
  const { dataDir, external, replicas } = settings;
  const running = readRunning(dataDir);
  if (external === undefined && running?.natsWsUrl === undefined) {
    throw new Failure(`No platform with the data folder ${dataDir} is running: npm start first.`);
  }
  const secrets = await loadSecrets(dataDir);
  const access: ConnectOptions = external ?? {
    url: running?.natsWsUrl ?? "",
    user,
    pass: secrets.broker[user],
  };
  const variables = {
    ...commonBindings(settings, secrets),
    ...brokerVariables(access),
    PUBLIC_URL: running?.url ?? settings.publicUrl,
  };
  return withStore(access, replicas, (store) => act(scriptDeps(store, variables)));
}
