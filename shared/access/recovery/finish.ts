import type { Deps } from "../../deps.ts";
import { type AccountRecord, changeAccount, type Recovered } from "../accounts.ts";
import { audit } from "../audit.ts";
import { keys, type Realm } from "../realms.ts";
import { closeRecoveryLink } from "../revocation.ts";
import { endSessions } from "../sessions.ts";

/**
 * Does what the recoveries of an account have left to do: ends all its sessions, deletes removed passkeys and closes
 * used links. Each step can be repeated. Until all are done, the account names the work, so that the next sign-in does
 * it after a crash.
 */
export async function finishRecoveries(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
): Promise<AccountRecord> {
  const { recovered, id } = account;
  if (recovered === undefined) return account;
  await endSessions(deps, realm.name, id);
  await Promise.all(recovered.map((one) => finish(deps, realm, id, one)));
  const done = JSON.stringify(recovered);
  return changeAccount(deps, realm, id, (current) =>
    // A recovery that was added meanwhile has work of its own.
    JSON.stringify(current.recovered) === done ? { ...current, recovered: undefined } : null,
  );
}

async function finish(deps: Deps, realm: Realm, sub: string, { link, removed }: Recovered): Promise<void> {
  const detail = removed === null ? "link_used_passkeys_kept" : "link_used_passkeys_removed";
  await Promise.all([
    ...(removed ?? []).map(async (id) =>
      deps.store.kvDelete(realm.buckets.credentials, await keys.credential(realm, id), { ttl: 60 }),
    ),
    closeRecoveryLink(deps, realm, link, "used"),
    audit(deps, { realm: realm.name, action: "recovery", actor: { sub }, target: sub, detail }),
  ]);
}
