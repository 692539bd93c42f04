/** Shows the ways to sign in to the account: its passkeys, and its identities at providers. */
import type { Identity, RealmApi } from "./api.ts";
import { byId, show } from "./dom.ts";
import { showIdentities } from "./identities.ts";
import { showPasskeys } from "./passkeys.ts";
import { showSessions } from "./sessions.ts";

/**
 * Loads the passkeys and the identities of the account and shows them in two lists. The page has a list only if the
 * application offers that way to sign in.
 * @returns the identities
 */
export async function showWays(api: RealmApi): Promise<Identity[]> {
  const [passkeys, identities] = await Promise.all([
    byId("passkeys") === null ? [] : api.listPasskeys(),
    byId("identities") === null ? null : api.listIdentities(),
  ]);
  show("identities-part", identities !== null);
  const linked = identities ?? [];
  const ways = passkeys.length + linked.filter(({ provider }) => provider !== null).length;
  // Removing a way to sign in ends the sessions that it started, so the sessions are loaded again too.
  const reload = async () => {
    await Promise.all([showWays(api), showSessions(api)]);
  };
  showPasskeys(api, passkeys, ways <= 1, reload);
  showIdentities(api, linked, ways, reload);
  return linked;
}
