/** Realms: who shares accounts with whom, and where each keeps them. All realms have one implementation. */
import { base64url } from "jose";
import type { Config } from "../deps.ts";
import { sha256 } from "../ids.ts";
import { buckets, isToken, token } from "../store/subjects.ts";
import { PLATFORM_REALM, SHARED_REALM } from "./authorize.ts";

/** Seconds that a platform token lives. */
const PLATFORM_SESSION_SECONDS = 12 * 3600;
/** Seconds that a token of users lives when the orb says nothing. */
const USER_SESSION_SECONDS = 24 * 3600;

/** Handlers of the service `access` that an orb can use. */
export type AccessHandler = "passkey" | "invitations" | "bootstrap";

/** One set of accounts. */
export interface Realm {
  /** `platform`, `auth`, or an orb's id. */
  name: string;
  /** What people read: in the browser's passkey dialogue and on the page. */
  title: string;
  /** Path below which its routes are. */
  base: string;
  /** Seconds that its sessions live. */
  sessionSeconds: number;
  /** What its orb uses of the service `access`; everything for the platform's own realms. */
  handlers: ReadonlySet<string>;
  buckets: { accounts: string; credentials: string; invitations: string };
}

const EVERY: ReadonlySet<string> = new Set<AccessHandler>(["passkey", "invitations", "bootstrap"]);
const USERS = {
  accounts: buckets.orbUsers,
  credentials: buckets.orbCredentials,
  invitations: buckets.orbInvitations,
};

/** People who operate the platform. */
export const platformRealm: Realm = {
  name: PLATFORM_REALM,
  title: "Platform administration",
  base: "/api/_auth",
  sessionSeconds: PLATFORM_SESSION_SECONDS,
  handlers: EVERY,
  buckets: {
    accounts: buckets.platformAdmins,
    credentials: buckets.platformCredentials,
    invitations: buckets.platformInvitations,
  },
};

/** Users whom all orbs without a realm of their own share. */
export const sharedRealm: Realm = {
  name: SHARED_REALM,
  title: "Accounts",
  base: "/api/auth",
  sessionSeconds: USER_SESSION_SECONDS,
  handlers: EVERY,
  buckets: USERS,
};

/** What of an orb's document makes its realm. */
export interface RealmDocument {
  id: string;
  name?: string | undefined;
  uses?: readonly { service: string; handlers: readonly string[] }[] | undefined;
  session?: { ttl?: number | undefined } | undefined;
}

/** The realm of an orb; null when it does not use the service `access`. */
export function orbRealm(document: RealmDocument): Realm | null {
  const used = document.uses?.find(({ service }) => service === "access");
  if (used === undefined) return null;
  return {
    name: document.id,
    title: document.name ?? document.id,
    base: `/api/${document.id}`,
    sessionSeconds: document.session?.ttl ?? USER_SESSION_SECONDS,
    handlers: new Set(used.handlers),
    buckets: USERS,
  };
}

/** Keys in a realm's buckets. The platform's buckets hold one realm only, so their keys need not name it. */
export const keys = {
  account: (realm: Realm, sub: string) => within(realm, token(sub, "user")),
  invitation: (realm: Realm, hash: string) => within(realm, token(hash, "invitation")),
  /** The bootstrap invitation has a key of its own, so that there is one at a time. */
  bootstrap: (realm: Realm) => within(realm, "bootstrap"),
  /** Some authenticators make ids that are too long for a token: those are kept by their hash, apart from the others. */
  credential: async (realm: Realm, id: string) =>
    isToken(id)
      ? `${token(realm.name, "realm")}.${id}`
      : `${token(realm.name, "realm")}.long.${await sha256(id)}`,
  all: (realm: Realm) => within(realm, "*"),
} as const;

function within(realm: Realm, key: string): string {
  return realm.name === PLATFORM_REALM ? key : `${token(realm.name, "realm")}.${key}`;
}

/** WebAuthn relying party: the host of `PUBLIC_URL`. */
export function relyingParty(config: Config): { id: string; origins: string[] } {
  const id = new URL(config.publicUrl).hostname;
  // A passkey works on the host that it is bound to and on those below it: other allowed origins could not use it.
  const origins = config.allowedOrigins.filter((origin) => {
    if (!URL.canParse(origin)) return false;
    const host = new URL(origin).hostname;
    return host === id || host.endsWith(`.${id}`);
  });
  return { id, origins: [config.publicUrl, ...origins] };
}

/** A fresh account id: 32 hexadecimal digits. It is the WebAuthn user handle too, so it is random per account and realm. */
export function newAccountId(randomToken: (bytes: number) => string): string {
  return Array.from(base64url.decode(randomToken(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The name of an account that gave none. */
export function generatedName(sub: string): string {
  return `user-${sub.slice(0, 8)}`;
}
