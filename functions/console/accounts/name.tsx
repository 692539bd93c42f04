import { useAccountNames } from "../state/names.ts";

/**
 * The name of an account.
 * @param orb the application in which the account changed something; undefined for the platform
 */
export function AccountName({ orb, id }: { orb: string | undefined; id: string }) {
  const nameOf = useAccountNames(orb);
  return (
    <span class="account-of" dir="auto" title={id}>
      {nameOf(id)}
    </span>
  );
}
