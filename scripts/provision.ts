/**
 * `npm run provision`: makes an external broker ready for the platform, as `npm start` does for its own, and tells where
 * the first operator signs in. What is there already stays as it is.
 */
import { readArguments } from "./arguments.ts";
import { unfinished, waysOn } from "./backup/swap.ts";
import { prepareDataDir } from "./data-dir.ts";
import { exitWith, Failure } from "./failure.ts";
import { brokerVariables, commonBindings, prepareBroker } from "./platform.ts";
import { loadSecrets } from "./secrets.ts";
import { readSettings } from "./settings.ts";

try {
  readArguments("npm run provision");
  const settings = readSettings(process.env);
  const { dataDir, external, replicas } = settings;
  if (external === undefined) {
    throw new Failure(
      "Give the broker with NATS_URL and its credentials: npm start prepares the one it starts.",
    );
  }
  prepareDataDir(dataDir);
  const restoring = unfinished(dataDir);
  if (restoring !== undefined)
    throw new Failure(`A restore of ${restoring.from} was interrupted. ${waysOn(restoring)}`);
  const variables = { ...commonBindings(settings, await loadSecrets(dataDir)), ...brokerVariables(external) };
  // Brokers that keep copies may still be electing their leader: they are waited for.
  const bootstrap = await prepareBroker(settings, external, variables, replicas);
  console.log(`The broker is ready, with ${replicas} of each stream.`);
  if (bootstrap !== null)
    console.log(`\nNo platform admin yet. Become the first one here:\n${bootstrap.url}`);
  process.exit(0);
} catch (error) {
  exitWith(error);
}
