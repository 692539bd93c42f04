/** `npm run provision` prepares an external broker, and prints the first admin's sign-in URL. */
import { recoverySteps, unfinishedRestore } from "./backup/swap.ts";
import { prepareDataDir } from "./config/data-dir.ts";
import { loadSecrets } from "./config/secrets.ts";
import { readSettings } from "./config/settings.ts";
import { brokerVariables, commonBindings } from "./platform/platform.ts";
import { prepareBroker, readyBroker } from "./platform/prepare-broker.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

try {
  readArguments("npm run provision");
  const settings = readSettings(process.env);
  const { dataDir, external, replicas } = settings;
  if (external === undefined) {
    throw new Failure(
      "Name the broker with NATS_URL and its credentials. npm start prepares the broker that it starts itself.",
    );
  }
  prepareDataDir(dataDir);
  const restoring = unfinishedRestore(dataDir);
  if (restoring !== undefined)
    throw new Failure(`A restore of ${restoring.from} was interrupted. ${recoverySteps(restoring)}`);
  const variables = { ...commonBindings(settings, await loadSecrets(dataDir)), ...brokerVariables(external) };
  // A cluster may still be electing its leaders, so wait for it.
  await readyBroker(external, replicas, replicas);
  const bootstrap = await prepareBroker(settings, external, variables);
  console.log(`The broker is ready, with ${replicas} replicas of each stream.`);
  if (bootstrap !== null)
    console.log(`\nNo platform admin yet. Become the first one here:\n${bootstrap.url}`);
  process.exit(0);
} catch (error) {
  exitWith(error);
}
