/** `npm run admin:invite` creates an invitation to register as a platform admin. */
import { system } from "../shared/access/actor.ts";
import { ensureBootstrap } from "../shared/access/bootstrap.ts";
import { createInvitation } from "../shared/access/invitations.ts";
import { platformRealm } from "../shared/access/realms.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith } from "./process/failure.ts";

export async function inviteAdmin(settings: Settings): Promise<{ url: string; expiresAt: string }> {
  return withRunningPlatform(
    settings,
    "deploy",
    async (deps) =>
      (await ensureBootstrap(deps)) ??
      (await createInvitation(deps, system, { realm: platformRealm, role: "owner" })),
  );
}

if (import.meta.main) {
  try {
    readArguments("npm run admin:invite");
    const { url, expiresAt } = await inviteAdmin(readSettings(process.env));
    console.log(
      `Open this address to become a platform admin. It works once, until ${expiresAt}:\n\n  ${url}\n`,
    );
  } catch (error) {
    exitWith(error);
  }
}
