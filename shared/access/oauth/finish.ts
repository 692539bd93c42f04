/**
 * Completes the sign-in at a provider. Then signs in the user, registers an account, or links the identity to the
 * signed-in account.
 */
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { type AccountRecord, changeAccount, readAccount } from "../accounts.ts";
import type { Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { enter, type Means, registerInvited, registerOpen } from "../ceremony/index.ts";
import { findInvitation } from "../invitations.ts";
import { countSignup, enforceRateLimit } from "../limits.ts";
import { credentialOfIdentity, joined, joining } from "../passkeys.ts";
import { generatedName, newAccountId, type Realm } from "../realms.ts";
import { requireOpen } from "../recovery/index.ts";
import { type Completed, readSession, type StartedSession } from "../sessions.ts";
import { requireOpenSignup } from "../settings.ts";
import {
  type FoundIdentity,
  findIdentity,
  hasIdentity,
  IDENTITY_LIMIT,
  type IdentityRecord,
  identityId,
  linkOf,
  requireFree,
  writeIdentity,
} from "./identities.ts";
import { findProvider } from "./provider.ts";
import { consumeState, type OAuthState, openState } from "./state.ts";
import { identityRefused, verifyAnswer } from "./verify.ts";

/**
 * Name and email address of the user according to the provider. A value is null if it is missing or unsuitable for an
 * account.
 */
export interface Profile {
  name: string | null;
  email: string | null;
}

export interface FinishOAuth {
  realm: Realm;
  /** Id of the provider in the application's document. */
  provider: string;
  cookie: string | undefined;
  /** Query parameters of the callback URL, to which the provider redirected the browser. */
  parameters: URLSearchParams;
  /** Returns the caller whose session the browser has now. */
  caller: () => Promise<Actor>;
  /** Extracts the name and email address for a new account from the claims of the ID token. */
  profileOf: (claims: Readonly<Record<string, unknown>>) => Profile;
}

export interface FinishedOAuth {
  /** Trusted URL to open after the sign-in. */
  back: string;
  /** The new session. Null if the identity was linked to an account that was already signed in. */
  session: StartedSession | null;
}

export async function finishOAuth(deps: Deps, input: FinishOAuth): Promise<FinishedOAuth> {
  const { realm, cookie, parameters, profileOf } = input;
  const provider = findProvider(realm, input.provider);
  const begun = await openState(deps, {
    realm: realm.name,
    provider: provider.id,
    issuer: provider.issuer,
    cookie,
    state: parameters.get("state"),
  });
  await enforceRateLimit(deps, "complete");
  try {
    await consumeState(deps, begun);
    const claims = await verifyAnswer(deps, realm, provider, begun, parameters);
    // OpenID Connect limits the subject to 255 characters. A blank one identifies nobody: everyone to whom a faulty
    // provider gave it would share an account.
    if (claims.sub.trim() === "" || claims.sub.length > MAX_SUBJECT) throw identityRefused();
    const profile = profileOf(claims);
    const id = await identityId(provider.issuer, claims.sub);
    const identity: IdentityRecord = {
      v: 1,
      id,
      account: begun.link?.sub ?? newAccountId(deps.randomToken),
      issuer: provider.issuer,
      subject: claims.sub,
      label: profile.email ?? profile.name,
      createdAt: new Date(deps.clock.now()).toISOString(),
    };
    const { back } = begun;
    if (begun.link === null)
      return { back, session: (await signIn(deps, realm, begun, identity, profile)).session };
    await requireSameSession(begun.link, await input.caller());
    await link(deps, realm, begun.link, identity);
    return { back, session: null };
  } catch (error) {
    if (error instanceof AppError && AUDITED.has(error.kind)) {
      await audit(deps, {
        realm: realm.name,
        action: begun.link === null ? "signin" : "identity",
        actor: { sub: begun.link?.sub ?? "anonymous" },
        outcome: "refused",
        detail: error.code,
      });
    }
    throw error;
  }
}

const MAX_SUBJECT = 255;

/**
 * Throws 403 unless the browser returns with the session that began the link. Otherwise an attacker who can plant a
 * cookie could link the victim's identity to the attacker's account.
 */
function requireSameSession(began: { sub: string; sid: string }, caller: Actor): void {
  if (caller.kind !== "anonymous" && "sid" in caller && caller.sub === began.sub && caller.sid === began.sid)
    return;
  const detail =
    "This link was begun in another session. Sign in to the account to which you want to link the identity, and begin again.";
  throw new AppError("forbidden", "other_session", detail);
}

const AUDITED: ReadonlySet<string> = new Set([
  "unauthenticated",
  "forbidden",
  "conflict",
  "gone",
  "not_found",
]);

async function signIn(
  deps: Deps,
  realm: Realm,
  begun: OAuthState,
  identity: IdentityRecord,
  profile: Profile,
): Promise<Completed> {
  const { id } = identity;
  const found = await findIdentity(deps, realm, id);
  if (found.account !== null) {
    return enter(deps, realm, found.account, {
      credential: credentialOfIdentity(id),
      lists: (account) => hasIdentity(account, id),
      refused: identityRefused,
      detail: `provider_${begun.provider}`,
    });
  }
  return register(deps, realm, begun, { found, identity, profile });
}

/** Creates an account if the user has an invitation or if the application's sign-up is open. */
async function register(
  deps: Deps,
  realm: Realm,
  { invite }: OAuthState,
  by: { found: FoundIdentity; identity: IdentityRecord; profile: Profile },
): Promise<Completed> {
  const { found, identity, profile } = by;
  const sub = identity.account;
  const person = { id: sub, name: profile.name ?? generatedName(sub), email: profile.email };
  const means = identityMeans(deps, realm, found, identity);
  if (invite === null) {
    await requireOpenSignup(deps, realm);
    requireFree(deps, found);
    await countSignup(deps, realm.name);
    return registerOpen(deps, realm, person, means);
  }
  const { invitation, account } = await requireOpen(deps, realm, await findInvitation(deps, realm, invite));
  if (account !== null) {
    const detail = "A recovery link needs a passkey. Open it and create a passkey.";
    throw new AppError("forbidden", "recovery_needs_passkey", detail);
  }
  requireFree(deps, found);
  return registerInvited(deps, realm, invitation, person, means);
}

function identityMeans(deps: Deps, realm: Realm, found: FoundIdentity, identity: IdentityRecord): Means {
  let remove = async () => {};
  return {
    credential: credentialOfIdentity(identity.id),
    listed: { credentials: [], identities: [linkOf(identity)] },
    write: async () => {
      remove = await writeIdentity(deps, realm, found, identity);
    },
    remove: () => remove(),
  };
}

/**
 * Links an identity to the account of a session. Throws if the session has ended, so that a stolen token of an ended
 * session cannot link an identity.
 */
async function link(
  deps: Deps,
  realm: Realm,
  { sub, sid }: { sub: string; sid: string },
  identity: IdentityRecord,
): Promise<void> {
  const lasts = () => readSession(deps, realm.name, sub, sid, "leader");
  const [found, account, began] = await Promise.all([
    findIdentity(deps, realm, identity.id),
    readAccount(deps, realm, sub),
    lasts(),
  ]);
  if (account?.value.status !== "active" || began === null) throw identityRefused();
  if (found.account?.id === sub) return;
  requireFree(deps, found);
  const { role } = account.value;
  const credential = credentialOfIdentity(identity.id);
  const remove = await writeIdentity(deps, realm, found, identity);
  const linked = (current: AccountRecord): AccountRecord | null => {
    // The identity is already linked: an earlier attempt succeeded, but its response was lost.
    if (hasIdentity(current, identity.id)) return null;
    // An unfinished recovery is about to end all sessions, perhaps including this one. So this session must not link
    // an identity.
    if (current.recovered !== undefined) throw identityRefused();
    if (current.status !== "active" || current.role !== role) throw identityRefused();
    const { identities = [] } = current;
    if (identities.length >= IDENTITY_LIMIT) {
      const detail = `An account has at most ${IDENTITY_LIMIT} identities. Unlink one first.`;
      throw new AppError("conflict", "too_many_identities", detail);
    }
    return joining(deps, { ...current, identities: [...identities, linkOf(identity)] }, credential);
  };
  try {
    await changeAccount(deps, realm, sub, linked);
    // The session ended during the write, so the user may not know about the identity. Unlink it.
    if ((await lasts()) === null) {
      await changeAccount(deps, realm, sub, (current) => {
        const identities = current.identities?.filter(({ id }) => id !== identity.id);
        return joined({ ...current, identities }, credential);
      });
      throw identityRefused();
    }
    await changeAccount(deps, realm, sub, (current) => joined(current, credential));
  } catch (error) {
    // Remove the identity only after errors that prove that the account does not list it.
    if (error instanceof AppError && AUDITED.has(error.kind)) await remove();
    throw error;
  }
  await audit(deps, { realm: realm.name, action: "identity", actor: { sub }, target: sub, detail: "linked" });
}
