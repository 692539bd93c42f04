/** Finds the names of the accounts that changed entries. */
import { type Caller, isPlatformAdmin } from "../api/caller.ts";
import { get } from "../api/http.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";

/** Returns a function that returns the name of an account. Only platform admins see the names of other admins. */
export function useNames(caller: Caller): (id: string) => string {
  const admins = useLoad(isPlatformAdmin(caller) ? "names/admins" : null, (signal) =>
    get<readonly { id: string; name: string }[]>("/api/_auth/admins", { signal }),
  ).data;
  return (id) => {
    if (id === caller.account?.id) return t("entry.you");
    if (id === "scheduler") return t("entry.scheduler");
    return admins?.find((admin) => admin.id === id)?.name ?? t("entry.account", { id: id.slice(0, 8) });
  };
}
