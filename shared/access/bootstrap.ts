/**
 * Creates the invitation for the first owner. Its storage key is always the same, so concurrent requests cannot create
 * two such invitations.
 */
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { isDeletionMarker } from "../store/client/index.ts";
import { nullOnConflict, untilWritten } from "../store/pages.ts";
import { kvSubject, streams } from "../store/subjects.ts";
import { type AccountRecord, pageRecords, type RecordPage, readRecord, type Versioned } from "./accounts.ts";
import { type Actor, anonymous, system } from "./actor.ts";
import { audit } from "./audit.ts";
import { orbOfRealm, requireOperator } from "./authorize.ts";
import {
  describeInvitation,
  hasValidCreator,
  type Invitation,
  type InvitationRecord,
  newInvitation,
  statusOf,
} from "./invitations.ts";
import { enforceRateLimit } from "./limits.ts";
import { type Accounts, keys, platformRealm, type Realm } from "./realms.ts";

/**
 * Returns whether an account can sign in. A registration may have been interrupted right before its last write; such an
 * account counts too.
 */
export async function isEffective(deps: Deps, realm: Accounts, account: AccountRecord): Promise<boolean> {
  if (account.status !== "pending" || account.invitation === null) return account.status === "active";
  const invitation = await readRecord<InvitationRecord>(deps, realm.buckets.invitations, account.invitation);
  return invitation?.value.account === account.id;
}

/** Returns whether an account belongs to a person. Service accounts cannot sign in, so they never count as owners. */
export function isPerson(account: AccountRecord): boolean {
  return account.service !== true;
}

/** Returns whether any owner exists. Starts with the most recently changed account, which often is an owner. */
export async function hasOwner(deps: Deps, realm: Realm): Promise<boolean> {
  const { accounts } = realm.buckets;
  const newest = await deps.store.get(streams.kv(accounts), kvSubject(accounts, keys.all(realm)));
  if (newest === null) return false;
  if (!isDeletionMarker(newest)) {
    const account = newest.json<AccountRecord>();
    if (isPerson(account) && account.role === "owner" && account.status === "active") return true;
  }
  for (let from: number | null = 1; from !== null; ) {
    const page: RecordPage<AccountRecord> = await pageRecords(deps, accounts, keys.all(realm), from);
    for (const { value } of page.records) {
      if (isPerson(value) && value.role === "owner" && (await isEffective(deps, realm, value))) return true;
    }
    from = page.next;
  }
  return false;
}

/** Returns the invitation for the first owner, or creates one. The caller must check that there is no owner. */
async function currentOrNew(deps: Deps, realm: Realm, by: Actor): Promise<Versioned<InvitationRecord>> {
  const { invitations } = realm.buckets;
  const key = keys.bootstrap(realm);
  return untilWritten(async () => {
    const known = await readRecord<InvitationRecord>(deps, invitations, key);
    if (known !== null) {
      const status = statusOf(known.value, deps.clock.now());
      if (status === "active" && (await hasValidCreator(deps, realm, known.value))) return known;
      await keepOld(deps, realm, { ...known.value, status: status === "active" ? "revoked" : status });
    }
    const { token, record } = await newInvitation(deps, realm, by, "owner", { bootstrap: true });
    const revision = await deps.store.kvPut(invitations, key, JSON.stringify(record), {
      expect: known?.revision ?? 0,
    });
    if (realm === platformRealm) {
      // The specification requires the token in the log. Only operators of the platform read the log.
      deps.log.info("bootstrap invitation created", {
        token,
        url: `${deps.config.publicUrl}${realm.base}/signin?invite=${token}`,
        expiresAt: record.expiresAt,
      });
    }
    await audit(deps, { realm: realm.name, action: "bootstrap", actor: by, detail: "created" });
    return { key, value: record, revision };
  });
}

/**
 * Moves a replaced invitation to another storage key. A request with its token is then told that it was used, expired
 * or revoked.
 */
async function keepOld(deps: Deps, realm: Realm, old: InvitationRecord): Promise<void> {
  const key = keys.invitation(realm, old.hash);
  // A conflict means that another process has already stored the old invitation.
  await nullOnConflict(deps.store.kvPut(realm.buckets.invitations, key, JSON.stringify(old), { expect: 0 }));
}

/** Creates the invitation for the first platform admin, if there is none. @returns null if a platform admin exists */
export async function ensureBootstrap(
  deps: Deps,
): Promise<{ token: string; url: string; expiresAt: string } | null> {
  if (await hasOwner(deps, platformRealm)) return null;
  const { value } = await currentOrNew(deps, platformRealm, system);
  const { token, url, expiresAt } = await describeInvitation(deps, platformRealm, value);
  return { token, url, expiresAt };
}

/**
 * Lists the invitation for the first platform admin. Needs no authentication.
 * @returns null if a platform admin exists: the list then requires authentication
 */
export async function listInBootstrapMode(deps: Deps): Promise<Invitation[] | null> {
  const [owned] = await Promise.all([hasOwner(deps, platformRealm), enforceRateLimit(deps, "bootstrap")]);
  if (owned) return null;
  const { value } = await currentOrNew(deps, platformRealm, system);
  return [await describeInvitation(deps, platformRealm, value)];
}

/**
 * Logs an attempt to sign in while the platform has no admin.
 * @param attempt.detail a code for the kind of attempt, or the error code
 * @param stored whether to write the attempt to the audit log as well
 */
export async function noteBootstrapAccess(
  deps: Deps,
  { outcome, detail }: { outcome: "ok" | "refused"; detail: string },
  stored: boolean,
): Promise<void> {
  deps.log.warn("bootstrap access", { outcome, detail, client: deps.request.client });
  if (!stored) return;
  await audit(deps, { realm: platformRealm.name, action: "bootstrap", actor: anonymous, outcome, detail });
}

/** Throws 410 if an owner exists, because the invitation for the first owner is then no longer valid. */
export async function admitBootstrap(deps: Deps, realm: Realm): Promise<void> {
  if (await hasOwner(deps, realm)) {
    throw new AppError(
      "gone",
      "invitation_revoked",
      "This invitation was revoked, because there is an owner now. Ask an owner for a new one.",
    );
  }
}

/**
 * Returns the invitation for the first owner of an application. A platform admin passes it on.
 * @throws AppError conflict if the application has an owner
 */
export async function bootstrapRealm(deps: Deps, actor: Actor, realm: Realm): Promise<Invitation> {
  requireOperator(actor, "realm.bootstrap", orbOfRealm(realm.name));
  if (await hasOwner(deps, realm)) {
    throw new AppError(
      "conflict",
      "owner_exists",
      "This realm already has an owner. Ask an owner to invite others.",
    );
  }
  const { value } = await currentOrNew(deps, realm, actor);
  return describeInvitation(deps, realm, value);
}
