import type { Deps } from "../deps.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { eraseUnsaved, unsavedKeys } from "../store/editing.ts";
import { untilWritten } from "../store/pages.ts";
import { buckets, kvSubject, streams, token } from "../store/subjects.ts";
import {
  type AccountRecord,
  changeAccount,
  listRecords,
  pageRecords,
  readAccount,
  recordPages,
  replaceRecord,
} from "./accounts.ts";
import type { AccountRole, Actor } from "./actor.ts";
import { eraseApiTokens } from "./api-token.ts";
import { audit } from "./audit.ts";
import { PLATFORM_REALM, requireInRealm, requireOperator, requireOwn, SHARED_REALM } from "./authorize.ts";
import { isEffective, isPerson } from "./bootstrap.ts";
import { type InvitationRecord, statusOf } from "./invitations.ts";
import { keys, platformRealm, type Realm, requireRole } from "./realms.ts";
import { refusal } from "./refusals.ts";
import { closeRecoveryLink, revokeInvitationsOf } from "./revocation.ts";
import { endSessions } from "./sessions.ts";

export async function ownAccount(
  deps: Deps,
  actor: Actor,
  realm: Realm,
  operation: "account.read" | "account.write" = "account.read",
): Promise<AccountRecord> {
  requireOwn(actor, realm.name, operation);
  const account = await readAccount(deps, realm, actor.sub);
  if (account === null) throw refusal(actor);
  return account.value;
}

/** Changes name and email of the signed-in account. Existing tokens keep the old name. */
export async function changeOwnAccount(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; name?: string | undefined; email?: string | null | undefined },
): Promise<AccountRecord> {
  const { id } = await ownAccount(deps, actor, input.realm, "account.write");
  return changeAccount(deps, input.realm, id, (account) => ({
    ...account,
    name: input.name ?? account.name,
    email: input.email === undefined ? account.email : input.email,
  }));
}

/** Lists accounts, least recently changed first. */
export async function listUsers(
  deps: Deps,
  actor: Actor,
  input: {
    realm: Realm;
    from: number;
    limit: number;
    role?: AccountRole | undefined;
    status?: AccountRecord["status"] | undefined;
  },
): Promise<{ users: AccountRecord[]; next: number | null }> {
  const { realm, limit, role, status } = input;
  requireInRealm(actor, realm, "users.read");
  if (role !== undefined) requireRole(realm, role, "filter");
  const users: AccountRecord[] = [];
  for (let from = input.from; ; ) {
    const page = await pageRecords<AccountRecord>(deps, realm.buckets.accounts, keys.all(realm), from);
    for (const { value, revision } of page.records) {
      const pending = value.status === "pending";
      if (pending && !(await isEffective(deps, realm, value))) continue;
      // The registration lacks only its last write, so show the account as active.
      const shown: AccountRecord = pending ? { ...value, status: "active" } : value;
      if (role !== undefined && shown.role !== role) continue;
      if (status !== undefined && shown.status !== status) continue;
      if (users.length === limit) return { users, next: revision };
      users.push(shown);
    }
    if (page.next === null) return { users, next: null };
    from = page.next;
  }
}

/**
 * Changes the role or status of a user. Also ends the user's sessions, and revokes invitations that the new role does
 * not allow.
 */
export async function changeUser(
  deps: Deps,
  actor: Actor,
  input: {
    realm: Realm;
    id: string;
    role?: AccountRole | undefined;
    status?: "active" | "disabled" | undefined;
  },
): Promise<AccountRecord> {
  const { realm, id, role, status } = input;
  requireInRealm(actor, realm, "users.write");
  if (role !== undefined) {
    requireRole(realm, role);
    requireInRealm(actor, realm, "users.write", role);
  }
  let before: AccountRole = "user";
  let link: string | undefined;
  const changed = await changeAccount(deps, realm, id, (account) => {
    requireInRealm(actor, realm, "users.write", account.role);
    before = account.role;
    link = account.recovery;
    return {
      ...account,
      role: role ?? account.role,
      status: status ?? account.status,
      // Revoke the recovery link. Its creator may not be allowed to recover an account that has the new role.
      recovery: undefined,
    };
  });
  await endSessions(deps, realm.name, id);
  if (link !== undefined) await closeRecoveryLink(deps, realm, link, "revoked");
  await revokeInvitationsOf(deps, actor, realm, before, changed);
  await audit(deps, {
    realm: realm.name,
    action: role === undefined ? "user" : "role",
    actor,
    target: id,
    detail: role === undefined ? changed.status : `role_${role}`,
  });
  return changed;
}

/**
 * Disables the account before erasing it, so that the user cannot sign in again. If this function fails, call it
 * again.
 */
export async function removeUser(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; id: string },
): Promise<void> {
  const { realm, id } = input;
  requireInRealm(actor, realm, "users.write", "user");
  const account = await changeAccount(deps, realm, id, (current) => {
    requireInRealm(actor, realm, "users.write", current.role);
    return { ...current, status: "disabled" };
  });
  await erase(deps, actor, realm, account);
}

/** The data that the platform keeps of a removed account. Histories and the audit log still contain its id. */
export interface FormerAccount {
  v: 1;
  id: string;
  name: string;
  removedAt: string;
}

/** Seconds for which the name of a removed account of the platform or of the shared accounts is kept: a year. */
const NAME_SECONDS = 365 * 86_400;

/**
 * Keeps the name of an account that is about to be removed: until its application is deleted, or for a year if it
 * belongs to no single application.
 */
async function keepName(deps: Deps, realm: Realm, { id, name }: AccountRecord): Promise<void> {
  const former: FormerAccount = { v: 1, id, name, removedAt: new Date(deps.clock.now()).toISOString() };
  await deps.store.kvPut(realm.buckets.accounts, keys.former(realm, id), JSON.stringify(former), {
    ...([PLATFORM_REALM, SHARED_REALM].includes(realm.name) ? { ttl: NAME_SECONDS } : {}),
  });
}

async function erase(deps: Deps, actor: Actor, realm: Realm, account: AccountRecord): Promise<void> {
  await Promise.all([
    endSessions(deps, realm.name, account.id),
    eraseApiTokens(deps, realm.name, account.id),
    eraseUnsaved(deps.store, unsavedKeys.ofAccount(realm.name, account.id)),
  ]);
  await revokeInvitationsOf(deps, actor, realm, account.role, account);
  if (account.recovery !== undefined) await closeRecoveryLink(deps, realm, account.recovery, "revoked");
  await Promise.all(
    (account.identities ?? []).map(({ id }) =>
      deps.store.kvDelete(realm.buckets.credentials, keys.identity(realm, id), { ttl: 60 }),
    ),
  );
  if (account.codes !== undefined)
    await deps.store.kvDelete(realm.buckets.credentials, keys.codes(realm, account.codes.set), { ttl: 60 });
  await Promise.all(
    account.credentials.map(async (credential) =>
      deps.store.kvDelete(realm.buckets.credentials, await keys.credential(realm, credential), { ttl: 60 }),
    ),
  );
  await keepName(deps, realm, account);
  await deps.store.kvDelete(realm.buckets.accounts, keys.account(realm, account.id), { ttl: 60 });
  await audit(deps, { realm: realm.name, action: "user", actor, target: account.id, detail: "removed" });
}

/** Returns whether a platform admin other than this one can sign in. Service accounts cannot sign in. */
async function isAnotherAdmin(deps: Deps, id: string): Promise<boolean> {
  const { accounts } = platformRealm.buckets;
  for await (const page of recordPages<AccountRecord>(deps, accounts, keys.all(platformRealm))) {
    const others = page.filter(({ value }) => value.id !== id && isPerson(value));
    const counted = await Promise.all(others.map(({ value }) => isEffective(deps, platformRealm, value)));
    if (counted.includes(true)) return true;
  }
  return false;
}

/** Advice in the error message when there are too many admins for one request. */
const FEWER = "Remove admins that are no longer needed.";

export async function listAdmins(deps: Deps, actor: Actor): Promise<AccountRecord[]> {
  requireOperator(actor, "admins.read");
  const all = await listRecords<AccountRecord>(
    deps,
    platformRealm.buckets.accounts,
    keys.all(platformRealm),
    FEWER,
  );
  const counted = await Promise.all(all.map(({ value }) => isEffective(deps, platformRealm, value)));
  const admins = all.filter((_, i) => counted[i]).map(({ value }) => value);
  return admins.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

/**
 * Removes a platform admin. The write fails if any admin has changed in the meantime. So two admins cannot remove each
 * other at the same time.
 */
export async function removeAdmin(deps: Deps, actor: Actor, id: string): Promise<void> {
  requireOperator(actor, "admins.write");
  const { accounts } = platformRealm.buckets;
  const removed = await untilWritten(async () => {
    const revision = await deps.store.kvLast(accounts);
    const found = await readAccount(deps, platformRealm, id);
    if (found === null) throw notFound("admin");
    if (!(await isAnotherAdmin(deps, id))) {
      throw new AppError(
        "conflict",
        "last_admin",
        "The last platform admin cannot be removed. Invite another one first.",
      );
    }
    const disabled: AccountRecord = { ...found.value, status: "disabled" };
    return replaceRecord(deps, accounts, found, disabled, { expectBucket: revision });
  });
  await erase(deps, actor, platformRealm, removed.value);
}

export interface RoleHolders {
  role: AccountRole;
  accounts: number;
  /** Number of invitations that can still be used. */
  invitations: number;
}

/**
 * Returns the number of accounts and of unused invitations for each role. Reads every account and every invitation.
 */
export async function holdersOf(
  deps: Deps,
  realm: Realm,
  roles: readonly AccountRole[],
): Promise<RoleHolders[]> {
  const holders = new Map(roles.map((role) => [role, { role, accounts: 0, invitations: 0 }]));
  const { accounts, invitations } = realm.buckets;
  const now = deps.clock.now();
  // Read invitations before accounts. In the other order, neither read would count an invitation that was used between
  // the two.
  for await (const page of recordPages<InvitationRecord>(deps, invitations, keys.all(realm))) {
    for (const { value } of page) {
      const found = holders.get(value.role);
      if (found !== undefined && statusOf(value, now) === "active") found.invitations++;
    }
  }
  for await (const page of recordPages<AccountRecord>(deps, accounts, keys.all(realm))) {
    for (const { value } of page) {
      const found = holders.get(value.role);
      if (found === undefined) continue;
      if (value.status !== "pending" || (await isEffective(deps, realm, value))) found.accounts++;
    }
  }
  return [...holders.values()];
}

/** Erases the accounts, invitations and sessions of a deleted application. A repeated call does no harm. */
export async function eraseRealm(deps: Deps, orb: string): Promise<void> {
  await Promise.all([endSessions(deps, orb), eraseApiTokens(deps, orb)]);
  const realm = [buckets.orbUsers, buckets.orbCredentials, buckets.orbInvitations, buckets.sessions];
  await Promise.all(
    realm.map((bucket) => deps.store.purge(streams.kv(bucket), kvSubject(bucket, `${token(orb, "orb")}.>`))),
  );
}
