/** Requests about accounts, invitations and API tokens. */
import type { Can } from "../../../shared/access/credentials/index.ts";
import { type Caller, isPlatformAdmin } from "./caller.ts";
import { get, pathOf, post, put, type ReadOptions, remove } from "./http.ts";
import type { Page } from "./orbs.ts";

/**
 * Identifies a set of accounts: the platform admins, the users of one application, or the users that several
 * applications share.
 */
export interface PeoplePlace {
  /** Path prefix of the routes for these accounts. */
  base: string;
  platform: boolean;
}

export const ADMINS: PeoplePlace = { base: "/api/_auth", platform: true };

/**
 * Identifies the accounts of a realm (set of accounts). The realm `auth` has the users that several applications share.
 */
export const usersOf = (realm: string): PeoplePlace => ({ base: `/api${pathOf(realm)}`, platform: false });

export interface Person {
  id: string;
  name: string;
  email?: string;
  /** Missing for platform admins, because they have no role. */
  role?: string;
  status?: "active" | "disabled";
  createdAt: string;
  passkeys: number;
  /** Whether the account belongs to a program, which uses API tokens. */
  service?: true;
}

export interface Invitation {
  token: string;
  status: "active" | "used" | "expired" | "revoked";
  purpose: "register" | "recover";
  role: string;
  url: string;
  createdAt: string;
  expiresAt: string;
}

export interface Token {
  id: string;
  name: string;
  scopes: readonly { orb: string; can: readonly Can[] }[];
  expiresAt: string;
  createdAt: string;
  lastUsedAt: string | null;
  /** Revision of the document whose shape the token sees. */
  definition?: number;
}

/** Lists accounts. The list of platform admins has only one page. */
export async function listPeople(
  { base, platform }: PeoplePlace,
  options: ReadOptions = {},
): Promise<Page<Person>> {
  if (!platform) return get(`${base}/users`, options);
  return { items: await get<Person[]>(`${base}/admins`, { signal: options.signal }), nextCursor: null };
}

/** Maximum number of pages of 200 accounts in which an account is looked for. */
const PAGES = 10;

/** Finds an account by its id; null if it is not among the first 2,000. */
export async function findPerson(
  place: PeoplePlace,
  id: string,
  signal: AbortSignal,
): Promise<Person | null> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { items, nextCursor } = await listPeople(place, { signal, query: { limit: 200, cursor } });
    const found = items.find((person) => person.id === id);
    if (found !== undefined) return found;
    if (nextCursor === null) return null;
    cursor = nextCursor;
  }
  return null;
}

const personPath = ({ base, platform }: PeoplePlace, id: string) =>
  `${base}/${platform ? "admins" : "users"}${pathOf(id)}`;

export const changePerson = (
  place: PeoplePlace,
  id: string,
  change: { role?: string; status?: "active" | "disabled" },
): Promise<Person> => put(personPath(place, id), change);

export const removePerson = (place: PeoplePlace, id: string): Promise<void> => remove(personPath(place, id));

/** Creates a recovery link, with which a user who has lost all passkeys can register a new one. */
export const recoverPerson = (place: PeoplePlace, id: string): Promise<Invitation> =>
  post(`${personPath(place, id)}/recovery`);

/** Creates an account for a program. Platform admins only. */
export const createService = (place: PeoplePlace, name: string, role: string): Promise<Person> =>
  post(`${place.base}/${place.platform ? "admins" : "users"}`, {
    name,
    service: true,
    ...(place.platform ? {} : { role }),
  });

export const listInvitations = ({ base }: PeoplePlace, signal?: AbortSignal): Promise<Invitation[]> =>
  get(`${base}/invitations`, { signal });

export const invite = ({ base, platform }: PeoplePlace, role: string): Promise<Invitation> =>
  post(`${base}/invitations`, platform ? undefined : { role });

export const revokeInvitation = ({ base }: PeoplePlace, token: string): Promise<void> =>
  remove(`${base}/invitations${pathOf(token)}`);

/** Whose tokens: those of a service account, or the caller's own. */
export interface TokenOwner {
  /** Path prefix of the routes for the realm's accounts, such as `/api/shop`. */
  base: string;
  /** Id of the service account; undefined for the caller's own tokens. */
  account?: string;
}

/** Lists tokens. Returns null if the response is not a list, because an older module of the application has this path. */
export async function listTokens(
  { base, account }: TokenOwner,
  signal?: AbortSignal,
): Promise<readonly Token[] | null> {
  const found = await get<unknown>(`${base}/tokens`, { query: { account }, signal });
  return Array.isArray(found) ? (found as Token[]) : null;
}

/** Creates a token. Only this response contains the secret. */
export const createToken = (
  { base, account }: TokenOwner,
  token: {
    name: string;
    expiresAt: string;
    scopes: readonly { orb: string; can: readonly Can[] }[];
    definition?: number;
  },
): Promise<Token & { token: string }> =>
  post(`${base}/tokens`, { ...(account === undefined ? {} : { account }), ...token });

export const revokeToken = ({ base, account }: TokenOwner, id: string): Promise<void> =>
  remove(`${base}/tokens${pathOf(id)}`, { query: { account } });

/**
 * Returns the built-in roles that the caller may grant to users. Platform admins and owners may grant all roles,
 * others only `user`.
 */
export function grantable(caller: Caller | undefined): readonly ("user" | "admin" | "owner")[] {
  return isPlatformAdmin(caller) || caller?.orb?.role === "owner" ? ["user", "admin", "owner"] : ["user"];
}

export interface AccountName {
  id: string;
  name: string;
  /** `platform`, `auth` (shared accounts), or the id of an application. */
  realm: string;
  removed?: true;
}

/**
 * Returns the names of up to 100 accounts, also of removed ones.
 * @param orb the application in which the accounts changed something; undefined for the platform
 */
export const namesOfAccounts = async (
  orb: string | undefined,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<AccountName[]> =>
  (
    await get<{ items: AccountName[] }>("/api/discovery/names", {
      query: { orb, ids: ids.join(",") },
      signal,
    })
  ).items;

/** Finds accounts by a part of their name. Only for callers who may list the accounts. */
export const findAccounts = async (
  orb: string | undefined,
  search: string,
  signal?: AbortSignal,
): Promise<AccountName[]> =>
  (await get<{ items: AccountName[] }>("/api/discovery/names", { query: { orb, search }, signal })).items;

export interface AuditRecord {
  id: string;
  at: string;
  realm: string;
  action: string;
  actor: string;
  through?: string;
  target: string | null;
  outcome: "ok" | "refused";
  detail: string | null;
  requestId: string;
  client: string;
  token?: string;
}

/** Lists the audit log. `query` accepts `filter[…]`, `limit` and `cursor`. Platform admins only. */
export const listAudit = (query: URLSearchParams, signal?: AbortSignal): Promise<Page<AuditRecord>> =>
  get("/api/admin/audit", { query, signal });
