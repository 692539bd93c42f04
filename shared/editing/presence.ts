/**
 * Presence: who edits an entry at the moment. A client repeats its request every few seconds. The record of a client that
 * does not expires, so nothing remains. Presence locks nothing.
 */
import type { Actor } from "../access/actor.ts";
import { mayField } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { notFound } from "../kernel/errors.ts";
import { countWrite } from "../quotas/quotas.ts";
import { SMALL_BYTES } from "../store/budget.ts";
import { type AccountKey, presenceKeys } from "../store/editing.ts";
import { nullIfMissing } from "../store/pages.ts";
import { buckets, isToken, kvSubject, streams } from "../store/subjects.ts";
import { namesFor } from "./names.ts";
import { entryOf, type FormOf, formOf, reading, type Within } from "./place.ts";

export const PRESENCE_LIMITS = {
  /** Seconds after which a client repeats its request. */
  every: 10,
  /** Seconds after its last request for which a client is shown. */
  seconds: 25,
  /** Maximum accounts that are shown in one entry. */
  accounts: 20,
  /** Maximum entries in which an account is shown. */
  entries: 20,
} as const;

/** Seconds for which the broker remembers that a client has left. */
const LEFT_SECONDS = 1;

interface Stored {
  v: 1;
  /** Time of the first of the requests without a gap. */
  since: string;
  field: string | null;
}

/** Another person who edits the entry. */
export interface Present {
  /** The name is null if the caller may not see names. */
  by: { id: string; name: string | null };
  since: string;
  /** The field that this person edits, if the caller may read it. */
  field: string | null;
}

/**
 * Tells the other editors of an entry that the caller edits it, and returns those editors. If too many people edit the
 * entry, or the caller edits too many entries, the others are not told.
 * @param input.field name of the field that the caller edits
 */
export async function attend(
  deps: Deps,
  actor: Actor,
  input: FormOf & Within & { field: string | null },
): Promise<Present[]> {
  const form = formOf(actor, input, "editing.attend");
  const { orb, id } = input;
  const { principal, account, schema } = form;
  if (form.isNew || !isToken(id)) throw notFound("entry");
  await countWrite(deps, actor, orb.orb);
  const [entry, list] = await Promise.all([
    reading(deps, input).then((within) => entryOf(within, input, form, "editing.attend")),
    nullIfMissing(
      deps.store.kvList(buckets.presence, presenceKeys.ofEntry(orb.orb, id), { maxBytes: SMALL_BYTES }),
    ),
  ]);
  // An earlier version of the platform set up the broker.
  if (list === null) return [];
  const key = presenceKeys.one(orb.orb, id, account);
  const own = list.find((each) => each.key === key);
  const others = list.filter((each) => each !== own);
  if (own !== undefined || (others.length < PRESENCE_LIMITS.accounts && (await hasRoom(deps, account)))) {
    const since = own?.json<Stored>().since ?? new Date(deps.clock.now()).toISOString();
    const field = input.field !== null && schema.fields.has(input.field) ? input.field : null;
    const stored: Stored = { v: 1, since, field };
    await deps.store.kvPut(buckets.presence, key, JSON.stringify(stored), { ttl: PRESENCE_LIMITS.seconds });
  }
  const isMine = entry.head.createdBy === account.sub;
  const isShown = (name: string | null): name is string => {
    const field = name === null ? undefined : schema.fields.get(name);
    return field !== undefined && mayField(principal, "read", { access: field.access, own: isMine });
  };
  const people = others.slice(0, PRESENCE_LIMITS.accounts).map((each) => {
    const [, , , sub = ""] = each.key.split(".");
    return { sub, ...each.json<Stored>() };
  });
  const names = await namesFor(
    deps,
    actor,
    orb.compiled,
    people.map(({ sub }) => sub),
  );
  return people
    .map(({ sub, since, field }) => ({
      by: { id: sub, name: names.get(sub) ?? null },
      since,
      field: isShown(field) ? field : null,
    }))
    .sort((a, b) => a.since.localeCompare(b.since));
}

async function hasRoom({ store }: Deps, account: AccountKey): Promise<boolean> {
  const filter = kvSubject(buckets.presence, presenceKeys.ofAccount(account));
  const { subjects } = await store.subjects(streams.kv(buckets.presence), filter);
  return subjects.length < PRESENCE_LIMITS.entries;
}

/** Tells the other editors of an entry that the caller has closed its form. */
export async function leave(deps: Deps, actor: Actor, input: FormOf): Promise<void> {
  const { isNew, account } = formOf(actor, input, "editing.attend");
  const { orb, id } = input;
  if (isNew || !isToken(id)) throw notFound("entry");
  const key = presenceKeys.one(orb.orb, id, account);
  if ((await nullIfMissing(deps.store.kvGet(buckets.presence, key))) === null) return;
  await deps.store.kvDelete(buckets.presence, key, { ttl: LEFT_SECONDS });
}
