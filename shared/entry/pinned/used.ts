/**
 * Remembers which revisions of a definition are still named, by whom and on which days. A use costs at most one small
 * write for each revision, caller and day, after the response.
 */
import { type Actor, accountBehind, actorId, tokenIdOf } from "../../access/actor.ts";
import { PLATFORM_REALM, requireOperator } from "../../access/authorize.ts";
import { NAME_LIMITS, namesOf, namesOfTokens } from "../../access/naming/index.ts";
import { exists, liveRecord, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { PerHost } from "../../kernel/bounded-map.ts";
import { notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { nullOnConflict, scanPages } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { OrbContext } from "../model/index.ts";

/** Days after its last use in which a use is still listed. */
export const USED_DAYS = 90;
/** Uses that are kept of one orb. The uses of further callers count together, as those of `others`. */
export const MOST_USES = 1_000;
const DAY_SECONDS = 86_400;

/** Who names a revision. `others` stands for all callers beyond {@link MOST_USES}. */
interface User {
  kind: "token" | "account" | "handler" | "anonymous" | "others";
  /** Realm of the account: `platform`, `auth` or an orb's id. Null without an account. */
  realm: string | null;
  /** Id of the account, or full name of the handler. Null for anonymous callers and for others. */
  id: string | null;
  /** Id of the API token. */
  token: string | null;
}

export interface Use extends User {
  revision: number;
  /** Name of the account, or of the API token. Null if it is not known any more. */
  name: string | null;
  /** Days of the first and of the last use, in UTC: `2026-11-28`. The first day is that of uses without a gap of 90 days. */
  first: string;
  last: string;
}

interface StoredUse extends Omit<Use, "name"> {
  v: 1;
  /** Tells the orb apart from an earlier one with its id. */
  incarnation: number;
}

const NO_ONE = { realm: null, id: null, token: null } as const;

function userOf(actor: Actor): User {
  if (actor.kind === "handler") return { ...NO_ONE, kind: "handler", id: actor.handler };
  const account = accountBehind(actor);
  if (account.kind !== "platform" && account.kind !== "orb") return { ...NO_ONE, kind: "anonymous" };
  const realm = account.kind === "platform" ? PLATFORM_REALM : account.realm;
  const token = tokenIdOf(actor) ?? null;
  return { kind: token === null ? "account" : "token", realm, id: actorId(actor), token };
}

/** The day on which this host has recorded each use last. */
const noted = new PerHost<string>(10_000);

type Noting = Pick<Deps, "store" | "clock" | "config" | "afterwards" | "readOnly">;
type Named = Pick<OrbContext, "orb" | "fence">;

const dayOf = (now: number) => new Date(now).toISOString().slice(0, "2026-11-28".length);

/** Records after the response that a caller has named a revision, at most once a day. */
export function noteUse(deps: Noting, live: Named, revision: number, actor: Actor): void {
  if (deps.readOnly === true) return;
  const user = userOf(actor);
  const day = dayOf(deps.clock.now());
  const key = JSON.stringify([live.orb, incarnationOf(live), revision, user]);
  if (noted.get(deps.config, key) === day) return;
  noted.set(deps.config, key, day);
  deps.afterwards(
    store(deps, live, revision, user, day).catch((error: unknown) => {
      noted.set(deps.config, key, "");
      throw error;
    }),
  );
}

const incarnationOf = ({ fence }: Named) => fence?.incarnation ?? 0;

/** Writes a use. If another process writes it at the same time, it has the same day. */
async function store(deps: Noting, live: Named, revision: number, user: User, day: string): Promise<void> {
  const { orb } = live;
  const incarnation = incarnationOf(live);
  const subject = subjects.pinnedUse(orb, revision, await sha256(JSON.stringify([incarnation, user])));
  const message = await deps.store.get(streams.platform, subject);
  const known = message?.json<StoredUse>();
  if (known?.last === day) return;
  if (known === undefined && user.kind !== "others") {
    const all = await deps.store.subjects(streams.platform, subjects.pinnedUses(orb));
    if (all.subjects.length >= MOST_USES)
      return store(deps, live, revision, { ...NO_ONE, kind: "others" }, day);
  }
  const use: StoredUse = { v: 1, incarnation, revision, ...user, first: known?.first ?? day, last: day };
  await nullOnConflict(
    deps.store.append(streams.platform, {
      subject,
      data: JSON.stringify(use),
      expect: { seq: message?.seq ?? 0 },
      rollup: true,
      ttl: USED_DAYS * DAY_SECONDS,
    }),
  );
}

/**
 * Lists the revisions that were named in the last 90 days, and by whom. For platform admins.
 * @returns the newest revision first, and of each revision the last use first
 */
export async function listUses(
  deps: Deps,
  actor: Actor,
  orb: string,
): Promise<{ items: Use[]; publishedRevision: number | null }> {
  requireOperator(actor, "orbs.read", orb);
  const [head, live, stored] = await Promise.all([
    orbHead(deps, orb),
    liveRecord(deps, orb),
    storedUses(deps, orb),
  ]);
  if (!exists(head)) throw notFound("orb");
  const incarnation = live?.record.fence?.incarnation ?? 0;
  const uses = stored.filter((use) => use.incarnation === incarnation);
  const names = await namesFor(deps, uses);
  const items = uses
    .map(({ v: _, incarnation: __, ...use }): Use => ({ ...use, name: names.get(keyOf(use)) ?? null }))
    .sort(
      (a, b) => b.revision - a.revision || b.last.localeCompare(a.last) || a.first.localeCompare(b.first),
    );
  return { items, publishedRevision: head.publishedRevision };
}

async function storedUses({ store }: Pick<Deps, "store">, orb: string): Promise<StoredUse[]> {
  const options = { limit: MOST_USES, maxBytes: READ_BYTES };
  const read = (fromSeq: number) =>
    store.scan(streams.platform, subjects.pinnedUses(orb), { fromSeq, ...options });
  // A use that was recorded again while the pages were read has a later message.
  const found = new Map<string, StoredUse>();
  for await (const page of scanPages(read))
    for (const message of page) found.set(message.subject, message.json<StoredUse>());
  return [...found.values()];
}

const keyOf = ({ realm, id, token }: Pick<User, "realm" | "id" | "token">) =>
  `${realm} ${token === null ? id : `${id}.${token}`}`;

/** Returns the names of accounts and API tokens, by {@link keyOf}. */
async function namesFor(deps: Deps, users: readonly User[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const byRealm = Map.groupBy(
    users.filter(({ id, realm }) => id !== null && realm !== null),
    ({ realm }) => realm ?? "",
  );
  for (const [realm, some] of byRealm) {
    const accounts = some.filter(({ token }) => token === null).map(({ id }) => id ?? "");
    const tokens = some.filter(({ token }) => token !== null).map(({ id, token }) => `${id}.${token}`);
    for (const [ids, find] of [
      [accounts, namesOf],
      [tokens, namesOfTokens],
    ] as const) {
      for (let at = 0; at < ids.length; at += NAME_LIMITS.ids) {
        const found = await find(deps, ids.slice(at, at + NAME_LIMITS.ids), [realm]);
        for (const { id, name } of found) names.set(`${realm} ${id}`, name);
      }
    }
  }
  return names;
}
