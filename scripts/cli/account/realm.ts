/**
 * Finds the set of accounts that a command works with: the platform admins, the users of one application, or the
 * users that applications share.
 */
import { CommandError, type Context } from "../command/context.ts";
import { PLATFORM_BASE } from "../command/token.ts";

const SHARED_BASE = "/api/auth";

/**
 * Returns the path prefix of the accounts that sign in to an application.
 * @param orb id of an application; `auth` for the accounts that applications share; undefined for platform
 * admins
 */
export async function baseFor({ transport }: Context, orb: string | undefined): Promise<string> {
  if (orb === undefined) return PLATFORM_BASE;
  if (orb === "auth") return SHARED_BASE;
  const path = `/api/${encodeURIComponent(orb)}`;
  const response = await transport
    .send({ method: "GET", path: `${path}/signin`, repeat: "safe" })
    .catch((error: unknown) => {
      if (error instanceof Error && Reflect.get(error, "status") === 404)
        throw new CommandError(`There is no published orb ${orb}. Check the id, or publish the orb first.`);
      throw error;
    });
  await response.body?.cancel();
  // If an application has no accounts of its own, its sign-in page redirects to the sign-in page of the shared
  // accounts.
  return new URL(response.url).pathname.startsWith(`${SHARED_BASE}/`) ? SHARED_BASE : path;
}
