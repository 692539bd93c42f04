import type { Deps } from "../deps.ts";
import type { AccountRole } from "./actor.ts";
import { admitBootstrap } from "./bootstrap.ts";
import { findInvitation, requireUsable } from "./invitations.ts";
import { enforceRateLimit } from "./limits.ts";
import type { Realm } from "./realms.ts";

/** Returns the role and the expiry of an invitation that can still be used. */
export async function checkInvitation(
  deps: Deps,
  input: { realm: Realm; code: string },
): Promise<{ status: "active"; expiresAt: string; role: AccountRole }> {
  const { realm, code } = input;
  const [found] = await Promise.all([
    findInvitation(deps, realm, code),
    enforceRateLimit(deps, "invitation"),
  ]);
  requireUsable(found, deps.clock.now());
  if (found.value.bootstrap) await admitBootstrap(deps, realm);
  return { status: "active", expiresAt: found.value.expiresAt, role: found.value.role };
}
