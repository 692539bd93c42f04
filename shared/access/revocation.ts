/** Revokes invitations and recovery links before they are used. */
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

/**
 * Writes the new status of an invitation or a recovery link.
 * @throws Conflict if another request has changed its record
 */
const end = (deps: Deps, bucket: string, found: Versioned<InvitationRecord>, status: "used" | "revoked") =>
  replaceRecord(deps, bucket, found, { ...found.value, status });

/**
 * Revokes an invitation or a recovery link. A recovery link is valid only while its account names it, so this function
 * first removes the link from the account. If the link is used at the same time, either the use or the revocation
 * succeeds.
 * @throws Conflict if another request has just used or revoked the invitation or link
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
    // The account no longer exists, so only the recovery link itself is left to revoke.
    if (error instanceof AppError && error.kind === "not_found") return false;
    throw error;
  }
}

/** Marks a recovery link as used or revoked once its account no longer names it. Safe to call repeatedly. */
export async function closeRecoveryLink(
  deps: Deps,
  realm: Realm,
  hash: string,
  status: "used" | "revoked",
): Promise<void> {
  const { invitations } = realm.buckets;
  const found = await readRecord<InvitationRecord>(deps, invitations, keys.invitation(realm, hash));
  // A conflict means that another request has just marked the link as used or revoked.
  if (found?.value.status === "active") await nullOnConflict(end(deps, invitations, found, status));
}

/**
 * After a role change, revokes the invitations that the account created but could no longer create with its new role.
 * @param before the account's previous role
 */
export async function revokeInvitationsOf(
  deps: Deps,
  actor: Actor,
  realm: Realm,
  before: AccountRole,
  account: AccountRecord,
): Promise<void> {
  // Most accounts could not create invitations with their previous role, so there is nothing to revoke.
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
 * Revokes all unused invitations and recovery links after a restore, because those in the backup may have been
 * revoked or used since the backup was made.
 * @returns the number of revoked invitations and links
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
    // Another request has just used or revoked the invitation. Read it again to throw the matching error.
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
