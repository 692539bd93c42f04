import type { Realm } from "../../shared/access/realms.ts";
import { accountSection, said } from "./account.ts";
import { files } from "./assets.generated.ts";
import { accentName } from "./branding.ts";
import { type Html, html, nothing } from "./html.ts";

export type PageState =
  /**
   * `name` is the name of the user who is already signed in, or null. `signup` says whether the page offers a
   * registration without an invitation.
   */
  | { kind: "login"; name: string | null; signup: boolean }
  /** `invite` is the code of a valid invitation. */
  | { kind: "register"; role: string; invite: string }
  /**
   * With a recovery link, `name` is the name of the account that gets a new passkey. Without a link, `name` is null and
   * the page asks for a recovery code.
   */
  | { kind: "recover"; name: string | null }
  /** The user registers without an invitation. */
  | { kind: "signup" }
  /** No account exists yet, and the URL contains no invitation. */
  | { kind: "bootstrap" }
  /** `next` is the target of the page's link: the sign-in form, the user's account, or none. */
  | { kind: "refused"; title: string; words: string; next: "signin" | "account" | null };

const MARK = html`<svg viewBox="0 0 24 24" width="28" height="28" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="9" cy="8" r="4"/><path d="M2.5 20c.6-3.6 3.2-6 6.5-6 1.1 0 2.1.3 3 .7"/><circle cx="17.5" cy="13.5" r="3"/><path d="M17.5 16.5V22l1.7-1.4M17.5 19.2l-1.4.9"/></svg>`;

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Crect width='24' height='24' rx='6' fill='%233446d3'/%3E%3Ccircle cx='12' cy='9' r='3.5' fill='%23fff'/%3E%3Cpath d='M5 19c1-4 4-5.500 7-5.500s6 1.500 7 5.500z' fill='%23fff'/%3E%3C/svg%3E";

const ROLE_WORDS: Record<string, string> = { owner: "an owner", admin: "an admin", user: "a user" };

function title(state: PageState): string {
  switch (state.kind) {
    case "register":
      return "Create your passkey";
    case "recover":
      return "Get back into your account";
    case "signup":
      return "Create an account";
    case "bootstrap":
      return "No account exists yet";
    case "refused":
      return state.title;
    default:
      return state.name === null ? "Sign in" : "Is it you?";
  }
}

/**
 * Returns a sign-in link for each OpenID Connect provider.
 * @param query query string to append to each link, for example with an invitation code
 */
function providerLinks({ providers, base }: Realm, query = ""): Html {
  return providers.reduce(
    (links, { id, name }) => html`${links}
      <a class="provider on" href="${base}/oauth/${id}${query}">Continue with ${name ?? id}</a>`,
    nothing,
  );
}

/** @param role role that the invitation grants; undefined without an invitation */
function registerForm(realm: Realm, role?: string, query = ""): Html {
  const links = providerLinks(realm, query);
  const as =
    realm.name === "platform"
      ? "a platform admin"
      : (ROLE_WORDS[role ?? ""] ?? `a user with the role ${role}`);
  const why = role === undefined ? nothing : html`You are invited as ${as}. `;
  if (!realm.handlers.has("passkey"))
    return html`
      <p>${why}Sign in with an account that you already have.</p>${said("enter")}${links}`;
  return html`
      <p>${why}This device stores your passkey and unlocks it with your fingerprint, your face or your screen lock. There is no password.</p>
      <form id="form" action="" novalidate>
        <div class="row">
          <label for="name">Your name <span class="hint">(optional)</span></label>
          <input id="name" name="name" type="text" maxlength="64" autocomplete="nickname" spellcheck="false">
        </div>
        <button class="primary" type="submit" disabled>Create passkey</button>
      </form>${said("enter")}${links}
      <p class="foot">Already have a passkey? <a class="on" href="${realm.base}/signin">Sign in</a></p>`;
}

function recoverForm(realm: Realm, name: string | null): Html {
  const then = "Create a new passkey on this device. It signs you in, and signs out every other device.";
  const intro =
    name === null
      ? html`Enter one of the recovery codes that you kept. ${then} The other codes stop working.`
      : html`This link is for the account <strong>${name}</strong>. ${then}`;
  const code = html`
        <div class="row">
          <label for="code">Recovery code</label>
          <input id="code" type="text" maxlength="64" autocapitalize="characters" autocomplete="off" spellcheck="false">
        </div>`;
  const help = "No code? Ask an admin for a link to get back in.";
  return html`
      <p>${intro}</p>
      <form id="form" action="" novalidate>${name === null ? code : nothing}
        <fieldset>
          <legend>Passkeys that the account already has</legend>
          <label class="check"><input type="radio" name="old" value="keep" checked> <span>Keep <span class="hint">if you may find them again</span></span></label>
          <label class="check"><input type="radio" name="old" value="remove"> <span>Remove <span class="hint">if they were stolen, or are gone for good</span></span></label>
        </fieldset>
        <button class="primary" type="submit" disabled>Create passkey</button>
      </form>${said("enter")}
      <p class="foot">${name === null ? html`${help}<br>` : nothing}Found your passkey? <a class="on" href="${realm.base}/signin">Sign in</a></p>`;
}

/** @param signup whether to offer a registration without an invitation */
function loginForm(realm: Realm, signup: boolean): Html {
  const invited = html`Open the invitation that you were given.`;
  const open = html`<a class="on" href="${realm.base}/signin?signup=true">Create an account</a>`;
  if (!realm.handlers.has("passkey"))
    return html`${said("enter")}${providerLinks(realm)}
      <p class="foot">New here? ${signup ? "Your first sign-in creates an account." : invited}</p>`;
  return html`
      <p>Use the passkey on this device, on your phone or on a security key. You do not need a name or a password.</p>
      <form id="form" action="" novalidate>
        <button class="primary" type="submit" disabled>Sign in with a passkey</button>
      </form>${said("enter")}${providerLinks(realm)}
      <p class="foot">New here? ${signup ? open : invited}<br>Lost your passkey? <a class="on" href="${realm.base}/signin?recover=true">Use a recovery code</a></p>`;
}

/**
 * Form for users who are already signed in. They can continue to the page they came from, or open their account.
 * Platform admins must first confirm with their passkey: their account page shows an access token, and the platform
 * returns that token only when a session begins.
 */
function knownForm(realm: Realm, name: string): Html {
  const confirm = html`
      <form id="form" action="" novalidate>
        <button class="primary" type="submit" disabled>Confirm with your passkey</button>
      </form>`;
  const open = html`
      <button id="open" type="button">See your account</button>`;
  const platform = realm.name === "platform";
  return html`
      <p>You are signed in as <strong id="known">${name}</strong>.${platform ? " Confirm with your passkey to see your account or copy a token." : nothing}</p>
      <button id="continue" class="primary" type="button" hidden>Continue</button>${platform ? confirm : open}${said("enter")}
      <button class="signout" type="button">Sign out</button>`;
}

function nextWords({ handlers }: Realm, next: "signin" | "account"): string {
  if (next === "account") return "Back to your account";
  return handlers.has("passkey") ? "Sign in with a passkey" : "Sign in";
}

function body(realm: Realm, state: PageState): Html {
  switch (state.kind) {
    case "register":
      return registerForm(realm, state.role, `?invite=${encodeURIComponent(state.invite)}`);
    case "recover":
      return recoverForm(realm, state.name);
    case "login":
      return state.name === null ? loginForm(realm, state.signup) : knownForm(realm, state.name);
    case "signup":
      return registerForm(realm);
    case "bootstrap":
      return html`
      <p>The platform printed a sign-in address for the first platform admin when it started. Open that address in this browser.</p>
      <p>If you lost the address, restart the platform or run <code>npm run admin:invite</code> to print it again.</p>`;
    case "refused":
      return html`
      <p>${state.words}</p>${
        state.next === null
          ? nothing
          : html`
      <p class="foot"><a href="${realm.base}/signin">${nextWords(realm, state.next)}</a></p>`
      }`;
    default:
      return nothing;
  }
}

/** @param origins origins of trusted web applications that the page may redirect to */
export function signinPage(realm: Realm, state: PageState, origins: readonly string[] = []): string {
  const hasScript = state.kind !== "refused" && state.kind !== "bootstrap";
  return pageHtml(realm, {
    kind: state.kind,
    heading: title(state),
    content: body(realm, state),
    hasScript,
    after: hasScript ? accountSection(realm, state.kind !== "login") : nothing,
    origins,
  });
}

export interface PageParts {
  /** Tells the page's script which kind of page this is. */
  kind: string;
  heading: string;
  content: Html;
  hasScript: boolean;
  /** Sections that the script shows later. */
  after?: Html;
  origins?: readonly string[];
}

/** Returns a page in the look of the sign-in page. */
export function pageHtml(realm: Realm, parts: PageParts): string {
  const { kind, heading, content, hasScript, after = nothing, origins = [] } = parts;
  const enter = html`
    <section id="enter" aria-labelledby="enter-title">
      <p class="realm">${realm.title}</p>
      <h1 id="enter-title" tabindex="-1">${heading}</h1>${content}
    </section>`;
  const script = hasScript
    ? html`
<script src="${files.signin.script}" defer></script>`
    : nothing;
  const { logo, color } = realm.branding ?? {};
  const mark =
    logo === undefined
      ? html`<div class="mark">${MARK}</div>`
      : html`<img class="logo" src="${logo}" alt="">`;
  const accent =
    color === undefined
      ? nothing
      : html`
<link rel="stylesheet" href="/api/_auth/assets/${accentName(color)}">`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading} · ${realm.title}</title>
<link rel="icon" href="${logo ?? ICON}">
<link rel="stylesheet" href="${files.signin.style}">${accent}${script}
</head>
<body data-base="${realm.base}" data-state="${kind}" data-title="${realm.title}" data-origins="${origins.join(" ")}">
  <main id="card">
    ${mark}${enter}${after}
    <noscript><p>Passkeys need JavaScript. Please allow it for this page.</p></noscript>
  </main>
</body>
</html>
`.markup;
}
