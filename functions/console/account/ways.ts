/** The ways to sign in to an account: its passkeys, and its identities at providers. */
import {
  type Identity,
  listIdentities,
  listPasskeys,
  type OwnAccount,
  type Passkey,
} from "../api/account.ts";
import { refresh } from "../state/cache.ts";
import { type Loaded, useLoad } from "../state/load.ts";

export interface Ways {
  passkeys: Loaded<readonly Passkey[]>;
  /** Null if an older module of the application has the path of the identities. */
  identities: Loaded<readonly Identity[] | null>;
  /** Number of passkeys and identities with which the user can sign in. */
  count: number;
  /** Loads the ways again after one was added or removed. That begins or ends sessions, so loads them too. */
  reload: () => Promise<void>;
}

export function useWays({ realm }: OwnAccount, base: string, prefix: string): Ways {
  const passkeys = useLoad(realm.ways.includes("passkey") ? `${prefix}passkeys` : null, (signal) =>
    listPasskeys(base, signal),
  );
  const identities = useLoad(realm.ways.includes("oauth") ? `${prefix}identities` : null, (signal) =>
    listIdentities(base, signal),
  );
  const usable = (identities.data ?? []).filter(({ provider }) => provider !== null);
  return {
    passkeys,
    identities,
    count: (passkeys.data ?? []).length + usable.length,
    async reload() {
      refresh(`${prefix}sessions`);
      await Promise.all([passkeys.reload(), identities.reload()]);
    },
  };
}
