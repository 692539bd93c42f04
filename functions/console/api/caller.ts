/** The caller's account and rights. */
import { get, pathOf, post } from "./http.ts";

export type Action = "read" | "create" | "update" | "publish" | "delete";

export interface Account {
  realm: string;
  id: string;
  name: string;
  role: string;
}

export interface OrbAccess {
  id: string;
  name?: string;
  realm: string;
  signin: string;
  role: "public" | "user" | "admin" | "owner";
  users: "none" | "read" | "write";
  modules: readonly {
    id: string;
    schemas: readonly { id: string; can: readonly Action[]; own: readonly Action[] }[];
  }[];
}

export interface Caller {
  account: Account | null;
  /** Null if the application is not published. Platform admins may still manage it. */
  orb: OrbAccess | null;
}

export const readCaller = (orb: string | undefined, signal?: AbortSignal, change?: string): Promise<Caller> =>
  get("/api/discovery/me", { query: { orb, change }, signal });

export const isPlatformAdmin = (caller: Caller | undefined): boolean => caller?.account?.realm === "platform";

/**
 * Returns whether the caller may perform an action on a schema's entries.
 * @param own whether the caller created the entry
 */
export function may(
  caller: Caller | undefined,
  action: Action,
  place: { module: string; schema: string },
  own = false,
): boolean {
  if (isPlatformAdmin(caller)) return true;
  const schema = caller?.orb?.modules
    .find(({ id }) => id === place.module)
    ?.schemas.find(({ id }) => id === place.schema);
  return schema?.can.includes(action) === true || (own && schema?.own.includes(action) === true);
}

/**
 * Returns whether the caller may perform one of these actions on the entries of some schema.
 * @param own whether the caller created the entries
 */
export const maySome = (caller: Caller | undefined, actions: readonly Action[], own: boolean): boolean =>
  isPlatformAdmin(caller) ||
  caller?.orb?.modules.some(({ schemas }) =>
    schemas.some((schema) =>
      actions.some((action) => schema.can.includes(action) || (own && schema.own.includes(action))),
    ),
  ) === true;

/** Returns whether the caller may write entries of some schema, at least their own. */
export const writesSome = (caller: Caller | undefined): boolean =>
  maySome(caller, ["create", "update", "publish", "delete"], true);

/** Returns the path prefix of the routes for a realm's accounts, such as `/api/shop`. */
export const basePath = (realm: string): string => `/api${pathOf(realm === "platform" ? "_auth" : realm)}`;

/** Returns the URL of a realm's sign-in page. */
export const signinPage = (realm: string): string => `${basePath(realm)}/signin`;

/** Returns the path below /console of the page on which users see their account of a realm. */
export const accountPage = (realm: string): string => `/account${pathOf(realm)}`;

/** Returns the URL of a sign-in page. After the sign-in, that page redirects to a page of the console. */
export const signinPath = (page: string, back: string): string =>
  `${page}?return=${encodeURIComponent(back)}`;

export const signOut = (realm: string): Promise<void> => post(`${basePath(realm)}/signout`);
