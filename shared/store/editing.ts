/** Keys of what people edit in forms: their unsaved changes, and who edits an entry. */
import { nullIfMissing } from "./pages.ts";
import { buckets, type Home, kvSubject, streams, token } from "./subjects.ts";
import type { Store } from "./types.ts";

/** An account, whose id is unique only in its realm (set of accounts). */
export interface AccountKey {
  realm: string;
  sub: string;
}

/** The entries of a schema, as an account edits them: as they are, or in a change set. */
export interface UnsavedPlace {
  orb: string;
  account: AccountKey;
  home: Home;
  change?: string | undefined;
}

/** Stands for the changes outside of change sets. No id from a client can be the same. */
const NO_SET = "~";

const inAccount = (orb: string, { realm, sub }: AccountKey) =>
  `${token(orb, "orb")}.${token(realm, "realm")}.${token(sub, "user")}`;

const inSchema = ({ orb, account, home, change }: UnsavedPlace) =>
  `${inAccount(orb, account)}.${change === undefined ? NO_SET : token(change, "change")}.${home.type}.${token(home.schema, "schema")}`;

/** Keys of unsaved changes: `<orb>.<realm>.<account>.<change or ~>.<type>.<schema>.<entry>`. */
export const unsavedKeys = {
  one: (place: UnsavedPlace, id: string) => `${inSchema(place)}.${token(id, "entry")}`,
  ofSchema: (place: UnsavedPlace) => `${inSchema(place)}.*`,
  /** Those of an account in one application. */
  ofAccountIn: (orb: string, account: AccountKey) => `${inAccount(orb, account)}.>`,
  ofAccount: (realm: string, sub: string) => `*.${token(realm, "realm")}.${token(sub, "user")}.>`,
  ofEntry: (orb: string, id: string) => `${token(orb, "orb")}.*.*.*.*.*.${token(id, "entry")}`,
  ofOrb: (orb: string) => `${token(orb, "orb")}.>`,
} as const;

/** Keys of presence: `<orb>.<entry>.<realm>.<account>`. */
export const presenceKeys = {
  one: (orb: string, id: string, { realm, sub }: AccountKey) =>
    `${token(orb, "orb")}.${token(id, "entry")}.${token(realm, "realm")}.${token(sub, "user")}`,
  ofEntry: (orb: string, id: string) => `${token(orb, "orb")}.${token(id, "entry")}.*.*`,
  ofAccount: ({ realm, sub }: AccountKey) => `*.*.${token(realm, "realm")}.${token(sub, "user")}`,
} as const;

/**
 * Erases unsaved changes. The bucket is missing if an earlier version of the platform set up the broker.
 * @param filter one of {@link unsavedKeys}
 */
export async function eraseUnsaved(store: Pick<Store, "purge">, filter: string): Promise<void> {
  await nullIfMissing(store.purge(streams.kv(buckets.unsaved), kvSubject(buckets.unsaved, filter)));
}
