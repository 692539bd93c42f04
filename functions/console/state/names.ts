/** Names of the accounts that changed something. Components ask for single ids, and one request reads many names. */
import { signal } from "@preact/signals";
import { type Caller, isPlatformAdmin } from "../api/caller.ts";
import { type AccountName, namesOfAccounts } from "../api/people.ts";
import { has, t } from "../texts/t.ts";
import { useCaller } from "./session.ts";

/** Maximum ids in one request. */
const MOST = 100;
/** Requests wait for this many milliseconds, so that all rows of a table share one. */
const PAUSE = 20;
/** Separates the application's id from an account's id. */
const keyOf = (orb: string | undefined, id: string) => `${orb ?? ""}/${id}`;

/** Names by application and id. A name is null if the platform knows no account with the id, or tells no name. */
const known = signal<ReadonlyMap<string, string | null>>(new Map());
/** Ids that a request is reading, or that wait for the next request, by application. */
const asked = new Set<string>();
const waiting = new Map<string | undefined, Set<string>>();

function learn(orb: string | undefined, ids: readonly string[], found: readonly AccountName[]): void {
  const next = new Map(known.peek());
  for (const id of ids) next.set(keyOf(orb, id), null);
  for (const { id, name, removed } of found)
    next.set(keyOf(orb, id), removed === true ? t("names.removed", { name }) : name);
  known.value = next;
}

async function readWaiting(orb: string | undefined): Promise<void> {
  const ids = [...(waiting.get(orb) ?? [])];
  waiting.delete(orb);
  for (let at = 0; at < ids.length; at += MOST) {
    const some = ids.slice(at, at + MOST);
    // Users who may not see names get no name.
    const found = await namesOfAccounts(orb, some).catch((): AccountName[] => []);
    learn(orb, some, found);
  }
}

/** Adds names that another response contained. */
export const learnNames = (orb: string | undefined, found: readonly AccountName[]): void =>
  learn(orb, [], found);

/** Ids that do not belong to an account. */
const SCHEDULE = "schedule_";
const wordsOf = (id: string): string | undefined => {
  if (id.startsWith(SCHEDULE)) return t("names.schedule", { id: id.slice(SCHEDULE.length) });
  const key = `names.id-${id}`;
  return has(key) ? t(key) : undefined;
};

/** Returns whether the platform tells the caller names of accounts: only if the caller may read a history. */
const maySeeNames = (caller: Caller | undefined): boolean =>
  isPlatformAdmin(caller) ||
  caller?.orb?.modules.some(({ schemas }) =>
    schemas.some(({ can }) => can.includes("update") || can.includes("publish")),
  ) === true;

/**
 * Returns a function that returns the name of an account, or words for an id that belongs to no account. The function
 * reads names that are not known yet, and then renders the calling component again.
 * @param orb the application in which the accounts changed something; undefined for the platform
 */
export function useAccountNames(orb: string | undefined): (id: string) => string {
  const caller = useCaller(orb).data;
  const account = caller?.account;
  const may = maySeeNames(caller);
  return (id) =>
    wordsOf(id) ?? (id === account?.id ? account.name : may ? nameForAdmin(orb, id) : t("names.hidden"));
}

/** Like the function of {@link useAccountNames}, for pages that only platform admins see. */
export function nameForAdmin(orb: string | undefined, id: string): string {
  if (id === "") return "";
  const words = wordsOf(id);
  if (words !== undefined) return words;
  const key = keyOf(orb, id);
  const name = known.value.get(key);
  if (name !== undefined) return name ?? t("names.unknown");
  if (!asked.has(key)) {
    asked.add(key);
    const some = waiting.get(orb);
    if (some !== undefined) some.add(id);
    else {
      waiting.set(orb, new Set([id]));
      setTimeout(() => void readWaiting(orb), PAUSE);
    }
  }
  return "…";
}
