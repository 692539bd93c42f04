/** Names of the accounts that changed entries, for sentences about one entry. */
import type { Caller } from "../api/caller.ts";
import { useAccountNames } from "../state/names.ts";
import { t } from "../texts/t.ts";

/** Returns a function that returns the name of an account, or "you". */
export function useNames(caller: Caller, orb: string): (id: string) => string {
  const nameOf = useAccountNames(orb);
  return (id) => (id === caller.account?.id ? t("entry.you") : nameOf(id));
}
