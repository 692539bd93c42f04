/** `npm start`: the whole platform on this machine, until it is told to stop. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exitWith } from "./failure.ts";
import { type Platform, startPlatform } from "./platform.ts";
import { readSettings } from "./settings.ts";

const say = (line: string) => console.error(line);

/** The sign-in URL with an invitation while no administrator exists; undefined afterwards. */
async function bootstrapUrl(platform: Platform): Promise<string | undefined> {
  // The first request that finds no administrator creates the invitation; only then does the listing need no token.
  const answer = await fetch(`${platform.url}/api/_auth/invitations`, {
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) return undefined;
  const invitations = (await answer.json()) as { token: string; status: string }[];
  const active = invitations.find(({ status }) => status === "active");
  return (
    active && `${platform.settings.publicUrl}/api/_auth/signin?invite=${encodeURIComponent(active.token)}`
  );
}

/** Stops on the first signal, or when the process that started us is gone; a second signal ends at once. */
function stopOnSignal(platform: Platform): void {
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    platform.stop().then(
      () => process.exit(0),
      (error: unknown) => exitWith(error),
    );
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent && !stopping) stop();
  }, 500).unref();
}

try {
  const settings = readSettings(process.env);
  if (!existsSync(fileURLToPath(new URL("../functions/worker.ts", import.meta.url)))) {
    throw new Error("functions/worker.ts is missing");
  }
  // A signal during the start must not leave children behind: it is acted on as soon as they are known.
  let early = false;
  const remember = () => {
    early = true;
  };
  process.on("SIGINT", remember).on("SIGTERM", remember).on("SIGHUP", remember);
  const platform = await startPlatform(settings, { natsServer: process.env.NATS_SERVER_BIN, say });
  process.off("SIGINT", remember).off("SIGTERM", remember).off("SIGHUP", remember);
  stopOnSignal(platform);
  if (early) process.kill(process.pid, "SIGTERM");
  else {
    const invitation = await bootstrapUrl(platform);
    console.log(
      `\nThe platform is ready at ${settings.publicUrl} (description: ${settings.publicUrl}/api/openapi)`,
    );
    if (platform.streamsUrl !== undefined)
      console.log(`Streams are served at ${platform.streamsUrl}/api/streams/`);
    if (invitation !== undefined)
      console.log(`\nNo administrator yet. Become the first one here:\n${invitation}`);
  }
} catch (error) {
  exitWith(error);
}
