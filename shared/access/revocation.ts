/** Ends invitations and recovery links before they are used. */
import type { Deps } from "../deps.ts";
import { AppError, writeConflict } from "../kernel/errors.ts";
import { nullOnConflict } from "../store/pages.ts";
import { buckets } from "../store/subjects.ts";
import { Conflict } from "../store/types.ts";
import {
  type AccountRecord,
  changeAccount,
  readRecord,
  recordPages,
  recordsToRevoke,
  replaceRecord,
  type Versioned,
} from "./accounts.ts";
import { type AccountRole, type Actor, builtInRole } from "./actor.ts";
import { audit } from "./audit.ts";
import { mayInRealm, requireInRealm } from "./authorize.ts";
import { findInvitation, type InvitationRecord, mayGrant, requireUsable, statusOf } from "./invitations.ts";
import { keys, type Realm } from "./realms.ts";

/** Writes the new status. @throws Conflict if another request has just used or revoked the invitation */
const end = (deps: Deps, bucket: string, found: Versioned<InvitationRecord>, status: "used" | "revoked") =>
  replaceRecord(deps, bucket, found, { ...found.value, status });

/**
 * Revokes an invitation or a recovery link. The account decides whether its recovery link works, so the account drops
 * the link first: of a revocation and a use at the same time, only one succeeds.
 * @throws Conflict if another request has just used or revoked it
 */
async function revoke(deps: Deps, realm: Realm, found: Versioned<InvitationRecord>): Promise<void> {
  const { recovers, hash } = found.value;
  const { invitations } = realm.buckets;
  if (recovers !== undefined && (await isUsedAfterDropping(deps, realm, recovers, hash))) {
    await end(deps, invitations, found, "used");
    throw new Conflict();
  }
  await end(deps, invitations, found, "revoked");
}

async function isUsedAfterDropping(deps: Deps, realm: Realm, sub: string, hash: string): Promise<boolean> {
  try {
    const account = await changeAccount(deps, realm, sub, (current) =>
      current.recovery === hash ? { ...current, recovery: undefined } : null,
    );
    return account.recovered?.some(({ link }) => link === hash) === true;
  } catch (error) {
    // A link of an account that does not exist does not work.
    if (error instanceof AppError && error.kind === "not_found") return false;
    throw error;
  }
}

/** Marks a recovery link that its account has dropped as used or revoked. Repeating it does no harm. */
export async function closeRecoveryLink(
  deps: Deps,
  realm: Realm,
  hash: string,
  status: "used" | "revoked",
): Promise<void> {
  const { invitations } = realm.buckets;
  const found = await readRecord<InvitationRecord>(deps, invitations, keys.invitation(realm, hash));
  // A conflict means that another request has just closed it.
  if (found?.value.status === "active") await nullOnConflict(end(deps, invitations, found, status));
}

/**
 * Revokes the invitations of an account that its new role no longer allows.
 * @param before the account's previous role
 */
export async function revokeInvitationsOf(
  deps: Deps,
  actor: Actor,
  realm: Realm,
  before: AccountRole,
  account: AccountRecord,
): Promise<void> {
  // Most accounts were never allowed to invite.
  if (!mayInRealm(builtInRole(before, realm.roles), "invitations.write")) return;
  if (mayGrant(realm, account, "owner")) return;
  const { invitations } = realm.buckets;
  for await (const page of recordsToRevoke<InvitationRecord>(deps, invitations, keys.all(realm))) {
    for (const found of page) {
      const { createdBy, role, status, hash } = found.value;
      if (createdBy !== account.id || status !== "active" || mayGrant(realm, account, role)) continue;
      // A conflict means that another request has just used or revoked the invitation.
      if ((await revoked(deps, realm, found)) === null) continue;
      await audit(deps, { realm: realm.name, action: "invitation", actor, target: hash, detail: "revoked" });
    }
  }
}

const revoked = (deps: Deps, realm: Realm, found: Versioned<InvitationRecord>) =>
  nullOnConflict(revoke(deps, realm, found).then(() => true));

/**
 * Revokes every open invitation after a restore, because the backup may contain some that were revoked later.
 * @returns how many were open
 */
export async function revokeOpenInvitations(deps: Deps): Promise<number> {
  let count = 0;
  for (const bucket of [buckets.platformInvitations, buckets.orbInvitations]) {
    for await (const page of recordPages<InvitationRecord>(deps, bucket, ">")) {
      for (const found of page) {
        if (statusOf(found.value, deps.clock.now()) !== "active") continue;
        await end(deps, bucket, found, "revoked");
        count++;
      }
    }
  }
  return count;
}

export async function revokeInvitation(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; code: string },
): Promise<void> {
  const { realm, code } = input;
  requireInRealm(actor, realm, "invitations.write", "user");
  const found = await findInvitation(deps, realm, code);
  requireUsable(found, deps.clock.now());
  requireInRealm(actor, realm, "invitations.write", found.value.role);
  if ((await revoked(deps, realm, found)) === null) {
    // Another request has just used or revoked the invitation. Throw the error that says which.
    requireUsable(await findInvitation(deps, realm, code), deps.clock.now());
    throw writeConflict();
  }
  await audit(deps, {
    realm: realm.name,
    action: "invitation",
    actor,
    target: found.value.hash,
    detail: "revoked",
  });
}
