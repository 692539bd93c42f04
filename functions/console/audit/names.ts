/** Names of the accounts in the audit log. */
import type { AuditRecord } from "../api/people.ts";
import { nameForAdmin } from "../state/names.ts";
import { t } from "../texts/t.ts";

/** Audited actions whose target is an account. */
const OF_ACCOUNTS = new Set([
  "register",
  "signin",
  "signout",
  "passkey",
  "recovery",
  "identity",
  "user",
  "role",
]);

export const isAboutAccount = ({ action }: Pick<AuditRecord, "action">): boolean => OF_ACCOUNTS.has(action);

/** Returns the name of an account in a realm (set of accounts); undefined if there is none. */
export function accountIn(realm: string, id: string): string | undefined {
  const name = nameForAdmin(realm === "platform" || realm === "auth" ? undefined : realm, id);
  return name === t("names.unknown") ? undefined : name;
}
