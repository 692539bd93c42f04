/**
 * `npm run admin:invite`: an invitation for a further operator, or for one who lost the last passkey. Whoever can read
 * the data folder, or has an external broker's credentials, may make one.
 */
import { system } from "../shared/access/actor.ts";
import { ensureBootstrap } from "../shared/access/bootstrap.ts";
import { createInvitation } from "../shared/access/invitations.ts";
import { platformRealm } from "../shared/access/realms.ts";
import type { ConnectOptions } from "../shared/store/wire.ts";
import { readRunning } from "./data-dir.ts";
import { scriptDeps } from "./deps.ts";
import { exitWith, Failure } from "./failure.ts";
import { brokerVariables, commonBindings, withStore } from "./platform.ts";
import { loadSecrets } from "./secrets.ts";
import { readSettings, type Settings } from "./settings.ts";

/** Makes the invitation. @returns its sign-in page and when it expires (ISO 8601) */
export async function inviteAdmin(settings: Settings): Promise<{ url: string; expiresAt: string }> {
  const { dataDir, external } = settings;
  const running = readRunning(dataDir);
  if (external === undefined && running?.natsWsUrl === undefined) {
    throw new Failure(`No platform with the data folder ${dataDir} is running: npm start first.`);
  }
  const secrets = await loadSecrets(dataDir);
  const access: ConnectOptions = external ?? {
    url: running?.natsWsUrl ?? "",
    user: "deploy",
    pass: secrets.broker.deploy,
  };
  const variables = {
    ...commonBindings(settings, secrets),
    ...brokerVariables(access),
    PUBLIC_URL: running?.url ?? settings.publicUrl,
  };
  return withStore(access, settings.replicas, async (store) => {
    const deps = scriptDeps(store, variables);
    return (
      (await ensureBootstrap(deps)) ??
      (await createInvitation(deps, system, { realm: platformRealm, role: "owner" }))
    );
  });
}

if (import.meta.main) {
  try {
    const { url, expiresAt } = await inviteAdmin(readSettings(process.env));
    console.log(`Open this address to become an operator. It works once, until ${expiresAt}:\n\n  ${url}\n`);
  } catch (error) {
    exitWith(error);
  }
}
