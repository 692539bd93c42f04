/**
 * A realm is a separate set of accounts: platform admins, the users of one application, or the users that applications
 * share.
 */
import { base64url } from "jose";
import { NO_ROLES, type OrbRoles, type ProviderDefinition, rolesOf } from "../definition/document/index.ts";
import type { Config } from "../deps.ts";
import { invalid, invalidParameters } from "../kernel/errors.ts";
import { sha256 } from "../kernel/ids.ts";
import { buckets, isToken, token } from "../store/subjects.ts";
import { type AccountRole, builtInRole, isAccountRole } from "./actor.ts";
import { PLATFORM_REALM, SHARED_REALM } from "./authorize.ts";

const PLATFORM_SESSION_SECONDS = 12 * 3600;
const USER_SESSION_SECONDS = 24 * 3600;

/** Logo and colours of the sign-in page. */
interface Branding {
  name?: string | undefined;
  /** URL of an image, with the scheme https: or data: */
  logo?: string | undefined;
  /** `#rrggbb` */
  color?: string | undefined;
}

/** Whether people need an invitation to register an account. `setting` means that the platform's settings decide. */
export type Signup = "invitation" | "open" | "setting";

/** Sign-in features that an application can turn on. */
export type AccessHandler = "passkey" | "invitations" | "bootstrap" | "oauth";

export interface Realm {
  /** `platform`, `auth`, or an application's id. */
  name: string;
  /** Name in the browser's passkey dialog and on the sign-in page. */
  title: string;
  /** URL path under which the realm's sign-in routes are, such as `/api/shop`. */
  base: string;
  /** Lifetime of the sessions in the realm, in seconds. */
  sessionSeconds: number;
  /** Sign-in features that the application uses. */
  handlers: ReadonlySet<string>;
  /** Roles that the application defines, in addition to the built-in ones. */
  roles: OrbRoles;
  /** Name, logo and colour of the sign-in page. */
  branding?: Branding | undefined;
  signup: Signup;
  /** OpenID Connect providers that the application offers for sign-in. */
  providers: readonly ProviderDefinition[];
  buckets: { accounts: string; credentials: string; invitations: string };
}

const EVERY: ReadonlySet<string> = new Set<AccessHandler>(["passkey", "invitations", "bootstrap"]);
const USERS = {
  accounts: buckets.orbUsers,
  credentials: buckets.orbCredentials,
  invitations: buckets.orbInvitations,
};

export const platformRealm: Realm = {
  name: PLATFORM_REALM,
  title: "Platform administration",
  base: "/api/_auth",
  sessionSeconds: PLATFORM_SESSION_SECONDS,
  handlers: EVERY,
  roles: NO_ROLES,
  signup: "invitation",
  providers: [],
  buckets: {
    accounts: buckets.platformAdmins,
    credentials: buckets.platformCredentials,
    invitations: buckets.platformInvitations,
  },
};

export const sharedRealm: Realm = {
  name: SHARED_REALM,
  title: "Accounts",
  base: "/api/auth",
  sessionSeconds: USER_SESSION_SECONDS,
  handlers: EVERY,
  roles: NO_ROLES,
  signup: "setting",
  providers: [],
  buckets: USERS,
};

export interface RealmDocument {
  id: string;
  name?: string | undefined;
  branding?: Branding | undefined;
  access?:
    | {
        signup?: "invitation" | "open" | undefined;
        providers?: readonly ProviderDefinition[] | undefined;
      }
    | undefined;
  uses?: readonly { service: string; handlers: readonly string[] }[] | undefined;
  session?: { ttl?: number | undefined } | undefined;
  roles?: Parameters<typeof rolesOf>[0];
}

/** Returns the realm of an application; null if the application has no accounts of its own. */
export function orbRealm(document: RealmDocument): Realm | null {
  const used = document.uses?.find(({ service }) => service === "access");
  if (used === undefined) return null;
  return {
    name: document.id,
    title: document.branding?.name ?? document.name ?? document.id,
    branding: document.branding,
    base: `/api/${document.id}`,
    sessionSeconds: document.session?.ttl ?? USER_SESSION_SECONDS,
    handlers: new Set(used.handlers),
    roles: rolesOf(document.roles),
    signup: document.access?.signup ?? "invitation",
    providers: used.handlers.includes("oauth") ? (document.access?.providers ?? []) : [],
    buckets: USERS,
  };
}

/** The name of a realm and the buckets that store its accounts. */
export type Accounts = Pick<Realm, "name" | "buckets">;

/** Returns the buckets that store the accounts of a realm. */
export function bucketsOf(realm: string): Realm["buckets"] {
  return realm === PLATFORM_REALM ? platformRealm.buckets : USERS;
}

/**
 * Storage keys of accounts, passkeys and invitations. Platform admins have buckets of their own, so their keys do not
 * contain the name of the realm (set of accounts).
 */
export const keys = {
  account: (realm: Pick<Realm, "name">, sub: string) => within(realm, token(sub, "user")),
  /** The name of a removed account. */
  former: (realm: Pick<Realm, "name">, sub: string) => within(realm, `former.${token(sub, "user")}`),
  /** Matches all accounts, and the names of removed ones. */
  everyName: (realm: Pick<Realm, "name">) => within(realm, ">"),
  invitation: (realm: Realm, hash: string) => within(realm, token(hash, "invitation")),
  /** The invitation for the first owner has a fixed key, so that only one exists at a time. */
  bootstrap: (realm: Realm) => within(realm, "bootstrap"),
  /** The broker limits the length of a key, and some passkey ids are longer. Such a key contains a hash of the id. */
  credential: async (realm: Realm, id: string) =>
    isToken(id)
      ? `${token(realm.name, "realm")}.${id}`
      : `${token(realm.name, "realm")}.long.${await sha256(id)}`,
  /** Recovery codes are stored in the same bucket as passkeys. */
  codes: (realm: Realm, set: string) => `${token(realm.name, "realm")}.codes.${token(set, "code")}`,
  /** @param id SHA-256 of the issuer and the subject */
  identity: (realm: Realm, id: string) => `${token(realm.name, "realm")}.identity.${token(id, "identity")}`,
  all: (realm: Pick<Realm, "name">) => within(realm, "*"),
} as const;

function within(realm: Pick<Realm, "name">, key: string): string {
  return realm.name === PLATFORM_REALM ? key : `${token(realm.name, "realm")}.${key}`;
}

/** Id of the WebAuthn relying party: the host name in `PUBLIC_URL`. */
export function relyingParty(config: Config): { id: string; origins: string[] } {
  const id = new URL(config.publicUrl).hostname;
  // A passkey works on the platform's host name and its subdomains. Other allowed origins cannot use it.
  const origins = config.allowedOrigins.filter((origin) => {
    if (!URL.canParse(origin)) return false;
    const host = new URL(origin).hostname;
    return host === id || host.endsWith(`.${id}`);
  });
  return { id, origins: [config.publicUrl, ...origins] };
}

/** Returns a new account id: 32 random hexadecimal digits. It is also the WebAuthn user handle. */
export function newAccountId(randomToken: (bytes: number) => string): string {
  return Array.from(base64url.decode(randomToken(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function generatedName(sub: string): string {
  return `user-${sub.slice(0, 8)}`;
}

/**
 * Throws if accounts of the realm cannot have the role.
 * @param where the part of the request that the error message names: the body, or the filter of a list
 */
export function requireRole(realm: Realm, role: AccountRole, where: "body" | "filter" = "body"): void {
  if (isAccountRole(role) && builtInRole(role, realm.roles) !== "public") return;
  const message = `must be one of: ${[...GRANTED_ROLES, ...realm.roles.keys()].join(", ")}`;
  if (where === "body") throw invalid([{ path: "/role", code: "enum", message }]);
  throw invalidParameters([{ path: "/filter[role]", code: "enum", message }]);
}

/** Built-in roles that accounts can have. */
export const GRANTED_ROLES = ["owner", "admin", "user"] as const;
