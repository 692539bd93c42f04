import type { Deps } from "../../deps.ts";
import type { AccountRecord } from "../accounts.ts";
import type { AccountRole, Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { orbOfRealm, requireOperator } from "../authorize.ts";
import { keys, newAccountId, type Realm, requireRole } from "../realms.ts";

/**
 * Creates a service account: an account for a program. The account has no passkeys, so it can only be used with API
 * tokens.
 */
export async function createServiceAccount(
  deps: Deps,
  actor: Actor,
  { realm, name, role }: { realm: Realm; name: string; role: AccountRole },
): Promise<AccountRecord> {
  requireOperator(actor, "services.write", orbOfRealm(realm.name));
  requireRole(realm, role);
  const at = new Date(deps.clock.now()).toISOString();
  const account: AccountRecord = {
    v: 1,
    id: newAccountId(deps.randomToken),
    name,
    email: null,
    role,
    status: "active",
    invitation: null,
    credentials: [],
    service: true,
    createdAt: at,
    updatedAt: at,
  };
  const { accounts } = realm.buckets;
  await deps.store.kvPut(accounts, keys.account(realm, account.id), JSON.stringify(account), { expect: 0 });
  const detail = `service_${role}`;
  await audit(deps, { realm: realm.name, action: "user", actor, target: account.id, detail });
  return account;
}
