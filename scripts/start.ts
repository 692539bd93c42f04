import { readSettings } from "./config/settings.ts";
import { announce } from "./platform/announce.ts";
import { startPlatform } from "./platform/platform.ts";
import { refuseArguments } from "./process/arguments.ts";
import { exitWith } from "./process/failure.ts";
import { stopRequest, untilStopped } from "./process/stop.ts";

const say = (line: string) => console.error(line);

const stopped = stopRequest();
try {
  refuseArguments(process.env.NATS_BROKERS === "3" ? "npm run cluster" : "npm start");
  const settings = readSettings(process.env);
  const platform = await startPlatform(settings, {
    natsServer: process.env.NATS_SERVER_BIN,
    programs: process.env.PROGRAMS_DIR,
    signal: stopped,
    say,
  });
  if (!stopped.aborted) announce(platform);
  await untilStopped(platform, stopped);
  process.exit(0);
} catch (error) {
  if (stopped.aborted) process.exit(0);
  exitWith(error);
}
