/** Recovery links. A person who has lost all passkeys opens a recovery link to add a new passkey to the account. */
import type { Deps } from "../../deps.ts";
import { AppError, notFound, writeConflict } from "../../kernel/errors.ts";
import { type AccountRecord, changeAccount, readAccount, refuseService } from "../accounts.ts";
import type { Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { requireInRealm } from "../authorize.ts";
import { isEffective } from "../bootstrap.ts";
import { describeInvitation, type Invitation, newInvitation } from "../invitations.ts";
import { keys, platformRealm, type Realm } from "../realms.ts";
import { closeRecoveryLink } from "../revocation.ts";

function refuseDisabled({ status }: AccountRecord): void {
  if (status !== "disabled") return;
  const detail = "This account is disabled. Enable it before you recover it.";
  throw new AppError("forbidden", "account_disabled", detail);
}

/**
 * Creates a recovery link for an account, and revokes the earlier link. The account record names the only valid link.
 * @throws AppError forbidden if the actor may not manage the account
 */
export async function createRecovery(
  deps: Deps,
  actor: Actor,
  input: { realm: Realm; id: string },
): Promise<Invitation> {
  const { realm, id } = input;
  requireInRealm(actor, realm, "users.write", "user");
  const found = await readAccount(deps, realm, id);
  const pending = found?.value.status === "pending" && !(await isEffective(deps, realm, found.value));
  if (found === null || pending) throw notFound(realm === platformRealm ? "admin" : "user");
  const { role } = found.value;
  requireInRealm(actor, realm, "users.write", role);
  refuseDisabled(found.value);
  refuseService(found.value);
  const { record } = await newInvitation(deps, realm, actor, role, { recovers: id });
  let earlier: string | undefined;
  await changeAccount(deps, realm, id, (current) => {
    refuseDisabled(current);
    if (current.role !== role) throw writeConflict();
    earlier = current.recovery;
    return { ...current, recovery: record.hash };
  });
  const key = keys.invitation(realm, record.hash);
  await Promise.all([
    deps.store.kvPut(realm.buckets.invitations, key, JSON.stringify(record), { expect: 0 }),
    audit(deps, { realm: realm.name, action: "recovery", actor, target: id, detail: "link_created" }),
    earlier === undefined ? undefined : closeRecoveryLink(deps, realm, earlier, "revoked"),
  ]);
  return describeInvitation(deps, realm, record);
}
