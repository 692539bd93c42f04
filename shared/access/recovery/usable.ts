/** Decides whether an invitation or a recovery link is valid. */
import type { Deps } from "../../deps.ts";
import { type AccountRecord, readAccount, type Versioned } from "../accounts.ts";
import type { AccountRole } from "../actor.ts";
import { admitBootstrap, isEffective } from "../bootstrap.ts";
import { findInvitation, type InvitationRecord, invitationEnded, requireUsable } from "../invitations.ts";
import { enforceRateLimit } from "../limits.ts";
import type { Realm } from "../realms.ts";

/**
 * Throws 410 unless the account record names this recovery link as its valid one. The record of the link itself does
 * not decide, even if its status is `active`.
 */
export function requireRecoverable(
  account: AccountRecord | undefined,
  link: Pick<InvitationRecord, "hash" | "role" | "recovers">,
): asserts account is AccountRecord {
  if (account?.recovered?.some((done) => done.link === link.hash) === true)
    throw invitationEnded("used", link);
  // The creator of the link was allowed to recover an account with this role. If the role has changed, the link is
  // invalid.
  const accepts = account?.recovery === link.hash && account.role === link.role;
  if (!accepts || account.status === "disabled") throw invitationEnded("revoked", link);
}

/**
 * Checks that an invitation or a recovery link is valid.
 * @returns the invitation or link; for a recovery link, also the account that it recovers
 * @throws AppError not_found or gone if the invitation or link is not valid
 */
export async function requireOpen(
  deps: Deps,
  realm: Realm,
  found: Versioned<InvitationRecord> | null,
): Promise<{ invitation: Versioned<InvitationRecord>; account: Versioned<AccountRecord> | null }> {
  requireUsable(found, deps.clock.now());
  if (found.value.bootstrap) await admitBootstrap(deps, realm);
  const { recovers } = found.value;
  if (recovers === undefined) return { invitation: found, account: null };
  const account = await readAccount(deps, realm, recovers);
  const exists =
    account !== null &&
    (account.value.status === "disabled" || (await isEffective(deps, realm, account.value)));
  requireRecoverable(exists ? account.value : undefined, found.value);
  return { invitation: found, account };
}

/** Returns the public details of a valid invitation or recovery link. */
export async function checkInvitation(
  deps: Deps,
  input: { realm: Realm; code: string },
): Promise<{
  status: "active";
  expiresAt: string;
  role: AccountRole;
  purpose: "register" | "recover";
  /** For a recovery link: name of the account that it recovers. Null for an invitation. */
  name: string | null;
}> {
  const { realm, code } = input;
  const [found] = await Promise.all([
    findInvitation(deps, realm, code),
    enforceRateLimit(deps, "invitation"),
  ]);
  const { invitation, account } = await requireOpen(deps, realm, found);
  const { expiresAt, role } = invitation.value;
  const purpose = account === null ? "register" : "recover";
  return { status: "active", expiresAt, role, purpose, name: account?.value.name ?? null };
}
