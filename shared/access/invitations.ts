/**
 * Invitations to register an account, and recovery links, which add a passkey to an existing account. An invitation or
 * a recovery link can be used once. Its storage key is the hash of its token. The token itself is stored encrypted.
 */

import type { Deps } from "../deps.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import { isCurrent, open, seal } from "../kernel/seal.ts";
import { nullOnConflict } from "../store/pages.ts";
import { isToken } from "../store/subjects.ts";
import {
  type AccountRecord,
  listRecords,
  readAccount,
  readRecord,
  recordPages,
  replaceRecord,
  type Versioned,
} from "./accounts.ts";
import { type AccountRole, type Actor, actorId, builtInRole, system } from "./actor.ts";
import { audit } from "./audit.ts";
import { mayInRealm, requireInRealm, roleInRealm } from "./authorize.ts";
import { keys, platformRealm, type Realm, requireRole, sharedRealm } from "./realms.ts";

const INVITATION_SECONDS = 7 * 24 * 3600;
const RECOVERY_SECONDS = 24 * 3600;

export interface InvitationRecord {
  v: 1;
  /** SHA-256 of the token. */
  hash: string;
  sealed: string;
  role: AccountRole;
  /**
   * An invitation that another one replaced is stored as `expired`. For all others, `expiresAt` tells whether they have
   * expired.
   */
  status: "active" | "used" | "revoked" | "expired";
  bootstrap: boolean;
  createdAt: string;
  expiresAt: string;
  createdBy: string;
  /** Id of the account that was registered with the invitation; null if the invitation is unused. */
  account: string | null;
  /** For a recovery link: id of the account that it recovers. Missing in invitations. */
  recovers?: string;
}

export interface Invitation {
  token: string;
  status: InvitationRecord["status"];
  createdAt: string;
  expiresAt: string;
  role: AccountRole;
  /** Sign-in URL that contains the token. */
  url: string;
  /** Id of the account that created the invitation, or `system`. */
  createdBy: string;
  bootstrap: boolean;
  purpose: "register" | "recover";
  /** For a recovery link: id of the account that it recovers. Null for invitations. */
  account: string | null;
}

const binding = (realm: Pick<Realm, "name">, hash: string) => `invitation/${realm.name}/${hash}`;

function invitationUrl(deps: Deps, realm: Realm, token: string): string {
  return `${deps.config.publicUrl}${realm.base}/signin?invite=${token}`;
}

export function statusOf(record: InvitationRecord, now: number): Invitation["status"] {
  if (record.status === "active" && Date.parse(record.expiresAt) <= now) return "expired";
  return record.status;
}

export async function newInvitation(
  deps: Deps,
  realm: Realm,
  by: Actor,
  role: AccountRole,
  { bootstrap = false, recovers }: { bootstrap?: boolean; recovers?: string } = {},
): Promise<{ token: string; record: InvitationRecord }> {
  const token = deps.randomToken(24);
  const hash = await sha256(token);
  const now = deps.clock.now();
  const seconds = recovers === undefined ? INVITATION_SECONDS : RECOVERY_SECONDS;
  const record: InvitationRecord = {
    v: 1,
    hash,
    sealed: await seal(deps.config.encryptionKeys, token, binding(realm, hash)),
    role,
    status: "active",
    bootstrap,
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + seconds * 1000).toISOString(),
    createdBy: actorId(by),
    account: null,
    ...(recovers === undefined ? {} : { recovers }),
  };
  return { token, record };
}

/**
 * Encrypts the codes of all invitations with the newest key, so that lists can still show the codes. If no key can
 * decrypt a code, leaves it unchanged. That invitation still works, because only the hash of its code is compared.
 * @returns the number of codes that were encrypted again
 */
export async function resealInvitations(deps: Deps): Promise<number> {
  const { encryptionKeys } = deps.config;
  let done = 0;
  for (const { name, buckets } of [platformRealm, sharedRealm]) {
    const platform = name === platformRealm.name;
    for await (const page of recordPages<InvitationRecord>(deps, buckets.invitations, ">")) {
      for (const found of page) {
        const { sealed, hash } = found.value;
        if (isCurrent(encryptionKeys, sealed)) continue;
        // The key is `<realm>.<hash>`. For an invitation of a platform admin, it is only the hash.
        const of = binding({ name: platform ? name : (found.key.split(".")[0] ?? "") }, hash);
        const token = await open(encryptionKeys, sealed, of);
        if (token === null) continue;
        const value = { ...found.value, sealed: await seal(encryptionKeys, token, of) };
        // A conflict means that the invitation was used or revoked, so its code no longer works.
        if ((await nullOnConflict(replaceRecord(deps, buckets.invitations, found, value))) !== null) done++;
      }
    }
  }
  return done;
}

/** Converts a record for a response, with its token decrypted. */
export async function describeInvitation(
  deps: Deps,
  realm: Realm,
  record: InvitationRecord,
): Promise<Invitation> {
  const token = (await open(deps.config.encryptionKeys, record.sealed, binding(realm, record.hash))) ?? "";
  return {
    token,
    status: statusOf(record, deps.clock.now()),
    createdAt: record.createdAt,
    expiresAt: record.expiresAt,
    role: record.role,
    url: invitationUrl(deps, realm, token),
    createdBy: record.createdBy,
    bootstrap: record.bootstrap,
    purpose: record.recovers === undefined ? "register" : "recover",
    account: record.recovers ?? null,
  };
}

/** @throws AppError forbidden if the actor may not grant the role */
export async function createInvitation(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; role: AccountRole },
): Promise<Invitation> {
  const { realm, role } = input;
  requireInRealm(actor, realm, "invitations.write");
  requireRole(realm, role);
  requireInRealm(actor, realm, "invitations.write", role);
  const { record } = await newInvitation(deps, realm, actor, role);
  await Promise.all([
    deps.store.kvPut(realm.buckets.invitations, keys.invitation(realm, record.hash), JSON.stringify(record), {
      expect: 0,
    }),
    audit(deps, {
      realm: realm.name,
      action: "invitation",
      actor,
      target: record.hash,
      detail: `created_${role}`,
    }),
  ]);
  return describeInvitation(deps, realm, record);
}

/** Returns the invitation that a token belongs to, whatever its status. */
export async function findInvitation(
  deps: Deps,
  realm: Realm,
  code: string,
): Promise<Versioned<InvitationRecord> | null> {
  if (!isToken(code)) return null;
  const hash = await sha256(code);
  const [own, bootstrap] = await Promise.all([
    readRecord<InvitationRecord>(deps, realm.buckets.invitations, keys.invitation(realm, hash)),
    readRecord<InvitationRecord>(deps, realm.buckets.invitations, keys.bootstrap(realm)),
  ]);
  if (own !== null) return own;
  return bootstrap?.value.hash === hash ? bootstrap : null;
}

const ENDED = {
  used: "was already used. Ask for a new one, or sign in.",
  expired: "has expired. Ask for a new one.",
  revoked: "was revoked. Ask for a new one.",
} as const;

/** Throws 404 or 410 if the invitation cannot be used. */
export function requireUsable(
  found: Versioned<InvitationRecord> | null,
  now: number,
): asserts found is Versioned<InvitationRecord> {
  if (found === null)
    throw notFound(
      "invitation",
      "This invitation is not valid. Check that you copied the whole address, or ask for a new one.",
    );
  const status = statusOf(found.value, now);
  if (status !== "active") throw invitationEnded(status, found.value);
}

/** Returns the 410 error for an invitation or a recovery link that is no longer valid. */
export function invitationEnded(
  status: keyof typeof ENDED,
  { recovers }: Pick<InvitationRecord, "recovers">,
): AppError {
  const what = recovers === undefined ? "invitation" : "recovery link";
  return new AppError("gone", `invitation_${status}`, `This ${what} ${ENDED[status]}`);
}

export function mayGrant(realm: Realm, account: AccountRecord | undefined, role: AccountRole): boolean {
  if (account?.status !== "active") return false;
  const [by, granted] = [account.role, role].map((name) => builtInRole(name, realm.roles));
  return by !== undefined && mayInRealm(by, "invitations.write", granted);
}

/** Returns whether the creator of an invitation may still grant its role. Otherwise the invitation is invalid. */
export async function hasValidCreator(
  deps: Deps,
  realm: Realm,
  { createdBy, role }: InvitationRecord,
): Promise<boolean> {
  // The application may have removed the role since the invitation was created.
  if (builtInRole(role, realm.roles) === "public") return false;
  if (createdBy === actorId(system)) return true;
  const [own, operator] = await Promise.all([
    readAccount(deps, realm, createdBy),
    realm === platformRealm ? null : readAccount(deps, platformRealm, createdBy),
  ]);
  return operator?.value.status === "active" || mayGrant(realm, own?.value, role);
}

/** Advice in the error message when there are too many invitations for one request. */
const FEWER = "Wait until some invitations expire.";

/** Lists the invitations that the caller could create, newest first. The response contains their tokens. */
export async function listInvitations(deps: Deps, actor: Actor, realm: Realm): Promise<Invitation[]> {
  requireInRealm(actor, realm, "invitations.read");
  const role = roleInRealm(actor, realm);
  const records = await listRecords<InvitationRecord>(
    deps,
    realm.buckets.invitations,
    keys.all(realm),
    FEWER,
  );
  const visible = records.filter(({ value }) =>
    mayInRealm(role, "invitations.write", builtInRole(value.role, realm.roles)),
  );
  const all = await Promise.all(visible.map(({ value }) => describeInvitation(deps, realm, value)));
  return all.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
}
