/** Finds the names of the accounts in the audit log. */
import { ADMINS, type AuditRecord, listPeople, usersOf } from "../api/people.ts";
import { useLoad } from "../state/load.ts";

type Names = ReadonlyMap<string, string>;

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
/**
 * Maximum number of realms (sets of accounts), and of user pages per realm, that are read to find names. The log
 * shows all other accounts by id.
 */
const MOST_REALMS = 10;
const MOST_PAGES = 5;

/** Returns the account ids in a record. */
const accountsIn = ({ action, actor, target }: AuditRecord): string[] =>
  target !== null && OF_ACCOUNTS.has(action) ? [actor, target] : [actor];

async function namesOf(realm: string, ids: readonly string[], signal: AbortSignal): Promise<Names> {
  const names = new Map<string, string>();
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { limit: 100, ...(cursor === null ? {} : { cursor }) };
    const { items, nextCursor } = await listPeople(usersOf(realm), { query, signal });
    for (const { id, name } of items) if (ids.includes(id)) names.set(id, name);
    if (nextCursor === null || names.size === ids.length) break;
    cursor = nextCursor;
  }
  return names;
}

/** Returns the account ids that do not belong to platform admins, grouped by realm (set of accounts). */
function unknownIn(records: readonly AuditRecord[], admins: Names): [string, string[]][] {
  const found = new Map<string, Set<string>>();
  for (const record of records) {
    if (record.realm === "platform") continue;
    for (const id of accountsIn(record)) {
      if (id === "anonymous" || admins.has(id)) continue;
      found.set(record.realm, (found.get(record.realm) ?? new Set()).add(id));
    }
  }
  return [...found].slice(0, MOST_REALMS).map(([realm, ids]) => [realm, [...ids].sort()]);
}

/**
 * Returns a function that returns the name of an account. The function returns undefined until the name is loaded,
 * and for removed accounts.
 */
export function useAccountNames(
  records: readonly AuditRecord[] | undefined,
): (id: string) => string | undefined {
  const admins = useLoad("audit/admins", async (signal): Promise<Names> => {
    const { items } = await listPeople(ADMINS, { signal });
    return new Map(items.map(({ id, name }) => [id, name]));
  }).data;
  const unknown = records === undefined || admins === undefined ? [] : unknownIn(records, admins);
  const users = useLoad(
    unknown.length === 0 ? null : `audit/users?${JSON.stringify(unknown)}`,
    async (signal): Promise<Names> => {
      const found = await Promise.all(
        // A removed application has no users.
        unknown.map(([realm, ids]) => namesOf(realm, ids, signal).catch((): Names => new Map())),
      );
      return new Map(found.flatMap((names) => [...names]));
    },
  ).data;
  return (id) => admins?.get(id) ?? users?.get(id);
}
