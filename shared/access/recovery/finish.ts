import type { Deps } from "../../deps.ts";
import { type AccountRecord, changeAccount, type Recovered } from "../accounts.ts";
import { eraseApiTokens } from "../api-token.ts";
import { audit } from "../audit.ts";
import { keys, type Realm } from "../realms.ts";
import { closeRecoveryLink } from "../revocation.ts";
import { endSessions } from "../sessions.ts";
import { deleteSet } from "./codes.ts";

/**
 * Finishes the recoveries of an account: ends all sessions, closes the used recovery links, and deletes the
 * invalidated recovery codes. If a recovery removed the old passkeys, also deletes those passkeys, the unlinked
 * identities and all API tokens. Until all steps are done, the account record lists the unfinished recoveries. So the
 * next sign-in can repeat the steps after a crash.
 */
export async function finishRecoveries(
  deps: Deps,
  realm: Realm,
  account: AccountRecord,
): Promise<AccountRecord> {
  const { recovered, id } = account;
  if (recovered === undefined) return account;
  // If a recovery removes passkeys, the account's API tokens must stop working too.
  const removes = recovered.some(({ removed }) => removed !== null);
  await Promise.all([
    endSessions(deps, realm.name, id),
    removes ? eraseApiTokens(deps, realm.name, id) : undefined,
  ]);
  await Promise.all(recovered.map((one) => finish(deps, realm, id, one)));
  const done = JSON.stringify(recovered);
  return changeAccount(deps, realm, id, (current) =>
    // If another request has added a recovery in the meantime, keep the list. Otherwise that recovery would never be
    // finished.
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
