/** `npm start`: the whole platform on this machine, until it is told to stop. */
import { refuseArguments } from "./arguments.ts";
import { exitWith } from "./failure.ts";
import { type Platform, startPlatform } from "./platform.ts";
import { readSettings } from "./settings.ts";
import { stopRequest } from "./stop.ts";

const say = (line: string) => console.error(line);

function announce({ settings, streamsUrl, bootstrapUrl }: Platform): void {
  const { publicUrl } = settings;
  console.log(
    `\nThe platform is ready at ${publicUrl} (its API for people: ${publicUrl}/api/docs, for programs: ${publicUrl}/api/openapi)`,
  );
  // By the name that the platform itself has where it is not told otherwise.
  const streams = streamsUrl?.replace("//127.0.0.1:", "//localhost:");
  if (streams !== undefined) console.log(`Streams are served at ${streams}/api/streams/`);
  if (bootstrapUrl !== null)
    console.log(`\nNo platform admin yet. Become the first one here:\n${bootstrapUrl}`);
}

const stopped = stopRequest();
try {
  refuseArguments(process.env.NATS_BROKERS === "3" ? "npm run cluster" : "npm start");
  const settings = readSettings(process.env);
  const platform = await startPlatform(settings, {
    natsServer: process.env.NATS_SERVER_BIN,
    signal: stopped,
    say,
  });
  if (!stopped.aborted) announce(platform);
  if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener("abort", resolve));
  await platform.stop();
  process.exit(0);
} catch (error) {
  if (stopped.aborted) process.exit(0);
  exitWith(error);
}
