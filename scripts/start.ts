/** `npm start`: the whole platform on this machine, until it is told to stop. */
import { exitWith } from "./failure.ts";
import { type Platform, startPlatform } from "./platform.ts";
import { readSettings } from "./settings.ts";

const say = (line: string) => console.error(line);

/** The sign-in URL with an invitation while no administrator exists; undefined afterwards. */
async function bootstrapUrl(platform: Platform): Promise<string | undefined> {
  // The listing needs no token just as long as there is no administrator, and asking makes the invitation.
  const url = `${platform.url}/api/_auth/invitations`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) {
    await answer.body?.cancel();
    return undefined;
  }
  const invitations = (await answer.json()) as { token: string; status: string }[];
  const active = invitations.find(({ status }) => status === "active");
  return (
    active && `${platform.settings.publicUrl}/api/_auth/signin?invite=${encodeURIComponent(active.token)}`
  );
}

async function announce(platform: Platform): Promise<void> {
  const { publicUrl } = platform.settings;
  const invitation = await bootstrapUrl(platform);
  console.log(`\nThe platform is ready at ${publicUrl} (description: ${publicUrl}/api/openapi)`);
  if (platform.streamsUrl !== undefined)
    console.log(`Streams are served at ${platform.streamsUrl}/api/streams/`);
  if (invitation !== undefined)
    console.log(`\nNo administrator yet. Become the first one here:\n${invitation}`);
}

/** Fires on the first signal, or when the process that started us is gone. */
function stopRequest(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop();
  }, 500).unref();
  return controller.signal;
}

const stopped = stopRequest();
try {
  const settings = readSettings(process.env);
  const platform = await startPlatform(settings, {
    natsServer: process.env.NATS_SERVER_BIN,
    signal: stopped,
    say,
  });
  if (!stopped.aborted) await announce(platform);
  if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener("abort", resolve));
  await platform.stop();
  process.exit(0);
} catch (error) {
  if (stopped.aborted) process.exit(0);
  exitWith(error);
}
