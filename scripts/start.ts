/** `npm start`: the whole platform on this machine, until it is told to stop. */
import { announce } from "./announce.ts";
import { refuseArguments } from "./arguments.ts";
import { exitWith } from "./failure.ts";
import { startPlatform } from "./platform.ts";
import { readSettings } from "./settings.ts";
import { stopRequest } from "./stop.ts";

const say = (line: string) => console.error(line);

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
