/**
 * `npm run admin:invite` creates an invitation to register as a platform admin, or a recovery link for an existing
 * admin.
 */
import { system } from "../shared/access/actor.ts";
import { ensureBootstrap } from "../shared/access/bootstrap.ts";
import { createInvitation } from "../shared/access/invitations.ts";
import { platformRealm } from "../shared/access/realms.ts";
import { createRecovery } from "../shared/access/recovery/index.ts";
import { listAdmins } from "../shared/access/users.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

const USAGE = "npm run admin:invite -- [--recover <name or id>]";

interface Link {
  url: string;
  expiresAt: string;
}

export async function inviteAdmin(settings: Settings): Promise<Link> {
  return withRunningPlatform(
    settings,
    "deploy",
    async (deps) =>
      (await ensureBootstrap(deps)) ??
      (await createInvitation(deps, system, { realm: platformRealm, role: "owner" })),
  );
}

/** @param wanted name or id of the platform admin */
export async function recoverAdmin(settings: Settings, wanted: string): Promise<Link> {
  return withRunningPlatform(settings, "deploy", async (deps) => {
    const admins = await listAdmins(deps, system);
    const found = admins.filter(({ id, name }) => id === wanted || name === wanted);
    const [only] = found;
    if (only === undefined) {
      const names = admins.map(({ name }) => name).join(", ");
      throw new Failure(
        admins.length === 0
          ? "There is no platform admin yet. Run npm run admin:invite to become the first one."
          : `There is no platform admin of the name or id ${JSON.stringify(wanted)}. The platform admins are: ${names}`,
      );
    }
    if (found.length > 1) {
      const ids = found.map(({ id, createdAt }) => `  ${id}  registered ${createdAt}`).join("\n");
      throw new Failure(
        `${found.length} platform admins have the name ${JSON.stringify(wanted)}. Pass the id of one:\n${ids}`,
      );
    }
    return createRecovery(deps, system, { realm: platformRealm, id: only.id });
  });
}

if (import.meta.main) {
  try {
    const { recover } = readArguments(USAGE, [], [], ["recover"]).options;
    const settings = readSettings(process.env);
    const { url, expiresAt } =
      recover === undefined ? await inviteAdmin(settings) : await recoverAdmin(settings, recover);
    const gives =
      recover === undefined ? "become a platform admin" : `add a passkey to the account of ${recover}`;
    console.log(`Open this address to ${gives}. It works once, until ${expiresAt}:\n\n  ${url}\n`);
  } catch (error) {
    exitWith(error);
  }
}
