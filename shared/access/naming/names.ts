/** Names of accounts, so that people see who changed something instead of an id. */
import type { SchemaAccess } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { isDeletionMarker } from "../../store/client/index.ts";
import { buckets, isToken, kvSubject, streams } from "../../store/subjects.ts";
import { type AccountRecord, pageRecords, type RecordPage } from "../accounts.ts";
import type { Actor, OrbRights } from "../actor.ts";
import { type ApiTokenRecord, tokenKey } from "../api-token.ts";
import {
  may,
  mayInRealm,
  PLATFORM_REALM,
  principalIn,
  realmOf,
  requireOperator,
  requireScope,
  SHARED_REALM,
} from "../authorize.ts";
import { bucketsOf, keys } from "../realms.ts";
import { refusal } from "../refusals.ts";

/** Limits of a look-up of names. */
export const NAME_LIMITS = {
  /** Maximum ids in one request. */
  ids: 100,
  /** Maximum accounts that a search returns. */
  found: 20,
  /** Maximum accounts that a search reads, and maximum accounts per read. */
  searched: 5_000,
  page: 500,
  /** Maximum characters of a search. */
  text: 64,
} as const;

export interface AccountName {
  id: string;
  name: string;
  /** `platform`, `auth` (shared accounts), or the id of an application. */
  realm: string;
  /** Set for an account that was removed. */
  removed?: true;
}

/** The parts of a published application that decide who may see names. */
export interface NamingOrb extends OrbRights {
  id: string;
  /** The access rules of all schemas. */
  accesses: readonly SchemaAccess[];
}

/**
 * Throws 401 or 403 unless the caller may see names of accounts: platform admins, and users who see in the history of
 * entries who changed them. An API token needs the right to manage, because names are data of people.
 * @param orb the application whose accounts are named; null for all accounts of the platform
 * @param use `search` finds accounts by name, which is for callers who may list the accounts
 */
export function requireNames(actor: Actor, orb: NamingOrb | null, use: "ids" | "search"): void {
  if (actor.kind !== "orb" || orb === null) {
    requireOperator(actor, "admins.read", orb?.id);
    return;
  }
  const principal = principalIn(actor, orb.id, orb);
  if (use === "search" && !mayInRealm(principal.role, "users.read")) throw refusal(actor, "admin");
  requireScope(actor, "users.read", orb.id);
  if (!orb.accesses.some((access) => may(principal, "readRevisions", { access, own: false })))
    throw refusal(actor);
}

/**
 * Returns the realms (sets of accounts) that can have changed something in an application, or on the platform.
 * @param id id of the application, which may not be published; null for the platform
 */
export function realmsOf(
  actor: Actor,
  id: string | null,
  orb: Pick<NamingOrb, "id" | "usesAccess"> | null,
): string[] {
  const users = orb === null ? SHARED_REALM : realmOf(orb.id, orb.usesAccess);
  // Only platform admins see applications that are not published, whose accounts may be their own.
  const own = id === null || actor.kind === "orb" ? [] : [id];
  return [...new Set([PLATFORM_REALM, users, ...own])].filter(isToken);
}

/** Returns the names of accounts by id. Leaves out unknown ids. */
export async function namesOf(
  deps: Deps,
  ids: readonly string[],
  realms: readonly string[],
): Promise<AccountName[]> {
  const known = [...new Set(ids)].filter(isToken).slice(0, NAME_LIMITS.ids);
  if (known.length === 0) return [];
  const found = await Promise.all(
    realms.map(async (name) => {
      const bucket = bucketsOf(name).accounts;
      const subjects = known.flatMap((id) =>
        [keys.account({ name }, id), keys.former({ name }, id)].map((key) => kvSubject(bucket, key)),
      );
      const messages = await deps.store.getMany(streams.kv(bucket), subjects, {
        maxBytes: READ_BYTES,
        consistency: "cached",
      });
      return [...messages].flatMap(([subject, message]) =>
        isDeletionMarker(message)
          ? []
          : [named(name, subject, message.json<Pick<AccountRecord, "id" | "name">>())],
      );
    }),
  );
  return found.flat();
}

/**
 * Returns the names of API tokens. Leaves out tokens that are unknown, expired or revoked.
 * @param ids the id of each token's account, a dot, and the id of the token
 */
export async function namesOfTokens(
  deps: Deps,
  ids: readonly string[],
  realms: readonly string[],
): Promise<AccountName[]> {
  const parts = [...new Set(ids)].flatMap((id) => {
    const [sub = "", token = "", ...more] = id.split(".");
    return isToken(sub) && isToken(token) && more.length === 0 ? [{ id, sub, token }] : [];
  });
  const places = parts.flatMap(({ id, sub, token }) =>
    realms.map((realm) => ({
      id,
      realm,
      subject: kvSubject(buckets.apiTokens, tokenKey({ realm, sub, id: token })),
    })),
  );
  if (places.length === 0) return [];
  const subjects = places.map(({ subject }) => subject);
  const options = { maxBytes: READ_BYTES, consistency: "cached" } as const;
  const found = await deps.store.getMany(streams.kv(buckets.apiTokens), subjects, options);
  return places.flatMap(({ id, realm, subject }) => {
    const message = found.get(subject);
    if (message === undefined || isDeletionMarker(message)) return [];
    return [{ id, realm, name: message.json<Pick<ApiTokenRecord, "name">>().name }];
  });
}

function named(realm: string, key: string, { id, name }: Pick<AccountRecord, "id" | "name">): AccountName {
  return { id, name, realm, ...(key.endsWith(keys.former({ name: realm }, id)) ? { removed: true } : {}) };
}

/**
 * Finds accounts whose name contains a text, in the order of the realms. Reads at most {@link NAME_LIMITS}`.searched`
 * accounts.
 * @param realms null for all realms of the platform
 */
export async function searchNames(
  deps: Deps,
  text: string,
  realms: readonly string[] | null,
): Promise<AccountName[]> {
  const wanted = text.normalize("NFKC").toLowerCase();
  const found: AccountName[] = [];
  let read = 0;
  const places: readonly (readonly [bucket: string, filter: string])[] =
    realms === null
      ? [PLATFORM_REALM, SHARED_REALM].map((realm) => [bucketsOf(realm).accounts, ">"] as const)
      : realms.map((name) => [bucketsOf(name).accounts, keys.everyName({ name })] as const);
  for (const [bucket, filter] of places) {
    for (let from: number | null = 1; from !== null && read < NAME_LIMITS.searched; ) {
      const page: RecordPage<AccountRecord> = await pageRecords(deps, bucket, filter, from, NAME_LIMITS.page);
      read += page.records.length;
      for (const { key, value } of page.records) {
        if (!value.name.normalize("NFKC").toLowerCase().includes(wanted)) continue;
        const [first = ""] = key.split(".");
        found.push(named(bucket === bucketsOf(PLATFORM_REALM).accounts ? PLATFORM_REALM : first, key, value));
        if (found.length === NAME_LIMITS.found) return found;
      }
      from = page.next;
    }
  }
  return found;
}
