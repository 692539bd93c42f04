/**
 * Bootstrap: while a realm has no owner, a single invitation admits the first one. It is stored under a fixed key, so
 * that concurrent requests cannot create a second one.
 */
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { isMarker } from "../store/broker/store.ts";
import { nullOnConflict, untilWritten } from "../store/pages.ts";
import { kvSubject, streams } from "../store/subjects.ts";
import { type AccountRecord, pageRecords, type RecordPage, readRecord, type Versioned } from "./accounts.ts";
import { type Actor, anonymous, system } from "./actor.ts";
import { audit } from "./audit.ts";
import { requireOperator } from "./authorize.ts";
import {
  describeInvitation,
  hasValidCreator,
  type Invitation,
  type InvitationRecord,
  newInvitation,
  statusOf,
} from "./invitations.ts";
import { enforceRateLimit } from "./limits.ts";
import { keys, platformRealm, type Realm } from "./realms.ts";

/**
 * Whether an account counts: it is active, or the invitation that created it names it (an interrupted registration).
 */
export async function isEffective(deps: Deps, realm: Realm, account: AccountRecord): Promise<boolean> {
  if (account.status !== "pending") return account.status === "active";
  const invitation = await readRecord<InvitationRecord>(deps, realm.buckets.invitations, account.invitation);
  return invitation?.value.account === account.id;
}

/** Whether the realm has an owner. Usually one request, because the most recently changed account is often one. */
export async function hasOwner(deps: Deps, realm: Realm): Promise<boolean> {
  const { accounts } = realm.buckets;
  const newest = await deps.store.get(streams.kv(accounts), kvSubject(accounts, keys.all(realm)));
  if (newest === null) return false;
  if (!isMarker(newest)) {
    const account = newest.json<AccountRecord>();
    if (account.role === "owner" && account.status === "active") return true;
  }
  for (let from: number | null = 1; from !== null; ) {
    const page: RecordPage<AccountRecord> = await pageRecords(deps, accounts, keys.all(realm), from);
    for (const { value } of page.records) {
      if (value.role === "owner" && (await isEffective(deps, realm, value))) return true;
    }
    from = page.next;
  }
  return false;
}

/**
 * Returns the bootstrap invitation. Creates one if there is none or it is no longer usable. The caller must have
 * checked that the realm has no owner.
 */
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
    const { token, record } = await newInvitation(deps, realm, by, "owner", true);
    const revision = await deps.store.kvPut(invitations, key, JSON.stringify(record), {
      expect: known?.revision ?? 0,
    });
    if (realm === platformRealm) {
      // The specification requires the token in the log. Readers of the log operate the platform.
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
 * Stores a replaced bootstrap invitation under its own key, so that its token is reported as used, expired or revoked.
 */
async function keepOld(deps: Deps, realm: Realm, old: InvitationRecord): Promise<void> {
  const key = keys.invitation(realm, old.hash);
  // On a conflict, another process has stored it.
  await nullOnConflict(deps.store.kvPut(realm.buckets.invitations, key, JSON.stringify(old), { expect: 0 }));
}

/**
 * Makes sure that a bootstrap invitation exists while the platform has no admin.
 * @returns the bootstrap invitation; null if there is an admin
 */
export async function ensureBootstrap(
  deps: Deps,
): Promise<{ token: string; url: string; expiresAt: string } | null> {
  if (await hasOwner(deps, platformRealm)) return null;
  const { value } = await currentOrNew(deps, platformRealm, system);
  const { token, url, expiresAt } = await describeInvitation(deps, platformRealm, value);
  return { token, url, expiresAt };
}

/**
 * Lists the bootstrap invitation without authentication, while the platform has no admin.
 * @returns null if there is an admin, because the list then needs authentication
 */
export async function listInBootstrapMode(deps: Deps): Promise<Invitation[] | null> {
  const [owned] = await Promise.all([hasOwner(deps, platformRealm), enforceRateLimit(deps, "bootstrap")]);
  if (owned) return null;
  const { value } = await currentOrNew(deps, platformRealm, system);
  return [await describeInvitation(deps, platformRealm, value)];
}

/**
 * Logs and audits an attempt to sign in while the platform has no admin.
 * @param detail the kind of attempt, or the error code
 */
export async function noteBootstrapAccess(
  deps: Deps,
  outcome: "ok" | "refused",
  detail: string,
): Promise<void> {
  deps.log.warn("bootstrap access", { outcome, detail, client: deps.request.client });
  await audit(deps, { realm: platformRealm.name, action: "bootstrap", actor: anonymous, outcome, detail });
}

/**
 * Checks that the bootstrap invitation is still usable. @throws AppError gone if another invitation has created an
 * owner
 */
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
 * Returns the invitation for an orb's first owner, which a platform admin passes on.
 * @throws AppError forbidden, conflict if the realm has an owner
 */
export async function bootstrapRealm(deps: Deps, actor: Actor, realm: Realm): Promise<Invitation> {
  requireOperator(actor, "realm.bootstrap");
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
