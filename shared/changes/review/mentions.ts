/** Finds the change sets with open comments that mention an account. */

import type { Deps } from "../../deps.ts";
import { inBatches, messagesInOrder } from "../../entry/index/index.ts";
import { ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";

/** Maximum number of mentions that a search reads, newest first. */
const MOST_READ = 1_000;
const AT_ONCE = 100;

/** Returns the messages that let the accounts find a comment which mentions them. */
export function mentionMessages(
  orb: string,
  set: string,
  { id, mentions }: { id: string; mentions: readonly string[] },
): Append[] {
  const accounts = [...new Set(mentions)].filter(isToken);
  return accounts.map((account) => ({ subject: subjects.mentions(orb, account), data: `${set}.${id}` }));
}

/** Returns the ids of the sets with comments that mention an account and are not resolved. */
export async function setsMentioning(deps: Deps, orb: string, account: string): Promise<Set<string>> {
  const sets = new Set<string>();
  if (!isToken(account)) return sets;
  const budget = new ReadBudget();
  const store = budget.charging(deps.store);
  const stream = streams.orb(orb);
  const filter = subjects.mentions(orb, account);
  const newest = async () => {
    const message = await nullIfMissing(store.get(stream, filter));
    return message === null ? undefined : { seq: message.seq + 1, density: 0 };
  };
  const read = (some: readonly string[], maxBytes: number) => store.getMany(stream, some, { maxBytes });
  let count = 0;
  const scan = { orb, filter, first: AT_ONCE };
  for await (const { messages } of messagesInOrder(store, scan, true, undefined, newest)) {
    const places = messages.map((message) => message.text().split("."));
    // A set that was found already need not be found again.
    const wanted = places.flatMap(([set = "", id = ""]) =>
      sets.has(set) ? [] : [subjects.changeComment(orb, set, id)],
    );
    for (let at = 0; at < wanted.length; at += AT_ONCE)
      // `<orb>._change.<set>.comment.<id>`
      for await (const { result } of inBatches(budget, wanted.slice(at, at + AT_ONCE), read))
        for (const [subject, message] of result)
          if (message.json<{ resolved?: unknown }>().resolved === undefined)
            sets.add(subject.split(".")[2] ?? "");
    count += messages.length;
    if (count >= MOST_READ || budget.over) return sets;
  }
  return sets;
}
