/** Requests about accounts, invitations and API tokens. */
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

export type Can = "read" | "write" | "publish" | "manage";
export const CANS: readonly Can[] = ["read", "write", "publish", "manage"];

export interface Token {
  id: string;
  name: string;
  scopes: readonly { orb: string; can: readonly Can[] }[];
  expiresAt: string;
  createdAt: string;
  lastUsedAt: string | null;
}

/** Lists accounts. The list of platform admins has only one page. */
export async function listPeople(
  { base, platform }: PeoplePlace,
  options: ReadOptions = {},
): Promise<Page<Person>> {
  if (!platform) return get(`${base}/users`, options);
  return { items: await get<Person[]>(`${base}/admins`, { signal: options.signal }), nextCursor: null };
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

export const listTokens = ({ base }: PeoplePlace, account: string, signal?: AbortSignal): Promise<Token[]> =>
  get(`${base}/tokens`, { query: { account }, signal });

/** Creates a token. Only this response contains the secret. */
export const createToken = (
  { base }: PeoplePlace,
  token: { account: string; name: string; expiresAt: string; scopes: readonly { orb: string; can: Can[] }[] },
): Promise<Token & { token: string }> => post(`${base}/tokens`, token);

export const revokeToken = ({ base }: PeoplePlace, account: string, id: string): Promise<void> =>
  remove(`${base}/tokens${pathOf(id)}`, { query: { account } });

/**
 * Returns the built-in roles that the caller may grant to users. Platform admins and owners may grant all roles,
 * others only `user`.
 */
export function grantable(caller: Caller | undefined): readonly ("user" | "admin" | "owner")[] {
  return isPlatformAdmin(caller) || caller?.orb?.role === "owner" ? ["user", "admin", "owner"] : ["user"];
}

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
