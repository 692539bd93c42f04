import type { Deps } from "../../deps.ts";
import { type AccountRecord, changeAccount, type Recovered } from "../accounts.ts";
import { eraseApiTokens } from "../api-token.ts";
import { audit } from "../audit.ts";
import { keys, type Realm } from "../realms.ts";
import { closeRecoveryLink } from "../revocation.ts";
import { endSessions } from "../sessions.ts";
import { deleteSet } from "./codes.ts";

/**
 * Does what the recoveries of an account have left to do: ends all its sessions, deletes removed passkeys, void codes
 * and API tokens, and closes used links. Each step can be repeated. Until all are done, the account names the work, so
 * that the next sign-in does it after a crash.
 */
export async function finishRecoveries(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
): Promise<AccountRecord> {
  const { recovered, id } = account;
  if (recovered === undefined) return account;
  // A recovery that removes passkeys leaves no other way into the account.
  const removes = recovered.some(({ removed }) => removed !== null);
  await Promise.all([
    endSessions(deps, realm.name, id),
    removes ? eraseApiTokens(deps, realm.name, id) : undefined,
  ]);
  await Promise.all(recovered.map((one) => finish(deps, realm, id, one)));
  const done = JSON.stringify(recovered);
  return changeAccount(deps, realm, id, (current) =>
    // A recovery that was added meanwhile has work of its own.
    JSON.stringify(current.recovered) === done ? { ...current, recovered: undefined } : null,
  );
}

async function finish(deps: Deps, realm: Realm, sub: string, one: Recovered): Promise<void> {
  const { by, link, codes, removed, unlinked = [] } = one;
  const detail = `${by}_used_passkeys_${removed === null ? "kept" : "removed"}`;
  await Promise.all([
    ...(removed ?? []).map(async (id) =>
      deps.store.kvDelete(realm.buckets.credentials, await keys.credential(realm, id), { ttl: 60 }),
    ),
    ...unlinked.map((id) =>
      deps.store.kvDelete(realm.buckets.credentials, keys.identity(realm, id), { ttl: 60 }),
    ),
    link === null ? undefined : closeRecoveryLink(deps, realm, link, "used"),
    codes === null ? undefined : deleteSet(deps, realm, codes),
    audit(deps, { realm: realm.name, action: "recovery", actor: { sub }, target: sub, detail }),
  ]);
}
