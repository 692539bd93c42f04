import type { Context } from "hono";
import { readAccount } from "../../shared/access/accounts.ts";
import { type Actor, actorId, anonymous } from "../../shared/access/actor.ts";
import { ensureBootstrap } from "../../shared/access/bootstrap.ts";
import { findInvitation } from "../../shared/access/invitations.ts";
import { enforceRateLimit } from "../../shared/access/limits.ts";
import { platformRealm, type Realm } from "../../shared/access/realms.ts";
import { requireOpen } from "../../shared/access/recovery/index.ts";
import { isSignupOpen } from "../../shared/access/settings.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { logUpstream, problemHeaders, STATUS } from "../http/problem.ts";
import { identify } from "../middleware/session.ts";
import { accountPage, returnAddress } from "../realm/return-address.ts";
import { accountsOf } from "../realm/scope.ts";
import type { AppEnv } from "../request/context.ts";
import { logoSource } from "./branding.ts";
import { languageOf, VARIES, wordsOf } from "./language.ts";
import { type PageState, signinPage } from "./templates.ts";
import type { Words } from "./texts/words.ts";

/** @param logo URL of the logo that the page may load */
const policy = (logo: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src data:${logoSource(logo)}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "0.0.0.0"]);

/** Redirects from an IP address such as 127.0.0.1 to a host name, because passkeys need one. */
export function byName(c: Context<AppEnv>): Response | null {
  const asked = new URL(c.req.url);
  const known = new URL(c.var.deps.config.publicUrl);
  if (!LOOPBACK.has(asked.hostname) || asked.hostname === known.hostname) return null;
  return c.redirect(`${known.origin}${asked.pathname}${asked.search}`, 302);
}

/** Codes of the errors for which the page that rejects an invitation or a recovery link has texts. */
const REFUSED = [
  "invitation_not_found",
  "invitation_used",
  "invitation_expired",
  "invitation_revoked",
] as const;

const closed = ({ text }: Words): PageState => ({
  kind: "refused",
  title: text("refused.closed"),
  words: text("refused.closedText"),
  next: "signin",
});

async function invited(c: Context<AppEnv>, realm: Realm, invite: string): Promise<PageState> {
  const { deps } = c.var;
  const { text } = wordsOf(c);
  const [found] = await Promise.all([
    findInvitation(deps, realm, invite),
    enforceRateLimit(deps, "invitation"),
  ]);
  try {
    const { invitation, account } = await requireOpen(deps, realm, found);
    return account === null
      ? { kind: "register", role: invitation.value.role, invite }
      : { kind: "recover", name: account.value.name };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const code = REFUSED.find((known) => known === error.code);
    if (code === undefined) throw error;
    // Browsers show the page whatever the status is. Keep the error's status for programs.
    c.error = error;
    return {
      kind: "refused",
      title: text(`refused.${code}`),
      words: text(`refused.${code}Text`),
      next: "signin",
    };
  }
}

/**
 * Returns the signed-in user. If the session is invalid or belongs to another realm (set of accounts), the user
 * counts as anonymous.
 */
export function visitor(c: Context<AppEnv>, realm: Realm): Promise<Actor> {
  return identify(c, accountsOf(realm)).catch((error: unknown) => {
    if (error instanceof AppError && (error.kind === "unauthenticated" || error.kind === "forbidden"))
      return anonymous;
    throw error;
  });
}

/** Returns the trusted address in the parameter `return`, without the origin if it is a path of the platform. */
function backOf(c: Context<AppEnv>): string | undefined {
  const { config } = c.var.deps;
  const back = returnAddress(config, c.req.query("return"));
  const { origin } = new URL(config.publicUrl);
  return back?.startsWith(`${origin}/`) === true ? back.slice(origin.length) : back;
}

/** Whether the user wants to see the account, and then to return. */
const wantsAccount = (c: Context<AppEnv>) => c.req.query("account") === "true";

/** @returns the page, or the address of the account page for users who are signed in */
async function stateOf(c: Context<AppEnv>, realm: Realm): Promise<PageState | string> {
  const { deps } = c.var;
  const invite = c.req.query("invite");
  if (invite !== undefined) return invited(c, realm, invite);
  if (c.req.query("recover") === "true" && realm.handlers.has("passkey"))
    return { kind: "recover", name: null };
  if (c.req.query("signup") === "true") {
    return (await isSignupOpen(deps, realm)) ? { kind: "signup" } : closed(wordsOf(c));
  }
  const actor = await visitor(c, realm);
  // Read the account, because its name may have changed since the session began.
  const account = actor.kind === "anonymous" ? null : await readAccount(deps, realm, actorId(actor));
  if (account !== null) {
    const back = backOf(c);
    if (back === undefined || wantsAccount(c)) return accountPage(realm, back);
    return { kind: "known", name: account.value.name, back };
  }
  if (realm === platformRealm && (await ensureBootstrap(deps)) !== null) {
    await enforceRateLimit(deps, "bootstrap");
    return { kind: "bootstrap" };
  }
  return { kind: "login", signup: await isSignupOpen(deps, realm) };
}

/** Returns the page for a temporary error, which tells the user to try again. */
export function troubled({ text }: Words, error: AppError): PageState {
  const words = text(error.kind === "too_many" ? "page.tooMany" : "page.silent");
  return { kind: "refused", title: text("page.again"), words, next: null };
}

/** Renders an HTML page for an error that occurred during sign-in with a provider, or while linking an identity. */
export async function showRefusal(c: Context<AppEnv>, realm: Realm, error: AppError): Promise<Response> {
  const actor = await identify(c, accountsOf(realm)).catch(() => null);
  c.error = error;
  logUpstream(c, error);
  const signedIn = actor !== null && actor.kind !== "anonymous";
  const words = wordsOf(c);
  const key = `refused.${error.code}`;
  const state: PageState = {
    kind: "refused",
    title: words.text(signedIn ? "page.notWorked" : "page.signedOut"),
    words: words.has(key) ? words.text(key) : error.detail,
    next: signedIn ? "account" : "signin",
  };
  return page(c, realm, state, STATUS[error.kind], problemHeaders(error));
}

/**
 * Renders the sign-in page, or redirects users who are signed in to their account. The page contains no query parameter
 * except the code of a valid invitation and a trusted return address.
 */
export async function showSignin(c: Context<AppEnv>, realm: Realm): Promise<Response> {
  const elsewhere = byName(c);
  if (elsewhere !== null) return elsewhere;
  let state: PageState;
  let status: (typeof STATUS)[keyof typeof STATUS] | 200 = 200;
  let headers: Record<string, string> = {};
  try {
    const found = await stateOf(c, realm);
    if (typeof found === "string") return c.redirect(found, 302);
    state = found;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    state = troubled(wordsOf(c), error);
    status = STATUS[error.kind];
    headers = problemHeaders(error);
    logUpstream(c, error);
  }
  return page(c, realm, state, status, headers);
}

export function page(
  c: Context<AppEnv>,
  realm: Realm,
  state: PageState,
  status: (typeof STATUS)[keyof typeof STATUS] | 200,
  headers: Record<string, string>,
): Response {
  const target = { back: backOf(c), account: wantsAccount(c) };
  return htmlResponse(c, realm, signinPage(wordsOf(c), realm, state, target), status, headers);
}

/** Sends a sign-in page with its Content-Security-Policy. */
export function htmlResponse(
  c: Context<AppEnv>,
  realm: Realm,
  text: string,
  status: (typeof STATUS)[keyof typeof STATUS] | 200 = 200,
  headers: Record<string, string> = {},
): Response {
  return c.body(text, status, {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy(realm.branding?.logo),
    "cache-control": "no-store",
    "content-language": languageOf(c),
    vary: VARIES,
  });
}
