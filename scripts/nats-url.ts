/**
 * `npm run nats:url` prints the URL, with credentials, of the broker that the platform started. Other clients and
 * services can use it.
 */
import { readRunning } from "./config/data-dir.ts";
import { readSettings } from "./config/settings.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

try {
  readArguments("npm run nats:url");
  const { dataDir, external } = readSettings(process.env);
  if (external !== undefined)
    throw new Failure("NATS_URL is set, so npm start started no broker. Unset NATS_URL.");
  const url = readRunning(dataDir)?.natsUrl;
  if (url === undefined)
    throw new Failure(
      `No platform with the data folder ${dataDir} is running. Run npm start first, or name its folder with DATA_DIR=….`,
    );
  console.log(url);
} catch (error) {
  exitWith(error);
}
