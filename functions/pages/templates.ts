import type { Realm } from "../../shared/access/realms.ts";
import { accountPage } from "../realm/return-address.ts";
import { files } from "./assets.generated.ts";
import { accentName } from "./branding.ts";
import { type Html, html, nothing } from "./html.ts";
import type { Place } from "./place.ts";

export type PageState =
  /** `signup` says whether the page offers a registration without an invitation. */
  | { kind: "login"; signup: boolean }
  /** The user `name` is already signed in, and can continue to the page `back`. */
  | { kind: "known"; name: string; back: string }
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

/** The elements in which the page's script shows the results of nearby buttons. */
export function said(place: Place): Html {
  return html`
      <div class="said" id="said-${place}"><p class="status" role="status"></p><p class="error" role="alert"></p></div>`;
}

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
    case "known":
      return "Is it you?";
    default:
      return "Sign in";
  }
}

/** Returns a query string of the parameters that have a value. */
function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** Returns a sign-in link for each OpenID Connect provider. @param invite code of an invitation */
function providerLinks({ providers, base }: Realm, back: string | undefined, invite?: string): Html {
  const query = queryOf({ invite, return: back });
  return providers.reduce(
    (links, { id, name }) => html`${links}
      <a class="provider" href="${base}/oauth/${id}${query}">Continue with ${name ?? id}</a>`,
    nothing,
  );
}

const signinLink = ({ base }: Realm, back: string | undefined, words: string): Html =>
  html`<a href="${base}/signin${queryOf({ return: back })}">${words}</a>`;

/** @param invited the code of the invitation, and the role that it grants; undefined without an invitation */
function registerForm(
  realm: Realm,
  back: string | undefined,
  invited?: { role: string; invite: string },
): Html {
  const links = providerLinks(realm, back, invited?.invite);
  const role = invited?.role;
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
      <p class="foot">Already have a passkey? ${signinLink(realm, back, "Sign in")}</p>`;
}

function recoverForm(realm: Realm, back: string | undefined, name: string | null): Html {
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
      <p class="foot">${name === null ? html`${help}<br>` : nothing}Found your passkey? ${signinLink(realm, back, "Sign in")}</p>`;
}

/** @param signup whether to offer a registration without an invitation */
function loginForm(realm: Realm, back: string | undefined, signup: boolean): Html {
  const invited = html`Open the invitation that you were given.`;
  const formAt = (form: "signup" | "recover") =>
    `${realm.base}/signin${queryOf({ [form]: "true", return: back })}`;
  const open = html`<a href="${formAt("signup")}">Create an account</a>`;
  if (!realm.handlers.has("passkey"))
    return html`${said("enter")}${providerLinks(realm, back)}
      <p class="foot">New here? ${signup ? "Your first sign-in creates an account." : invited}</p>`;
  return html`
      <p>Use the passkey on this device, on your phone or on a security key. You do not need a name or a password.</p>
      <form id="form" action="" novalidate>
        <button class="primary" type="submit" disabled>Sign in with a passkey</button>
      </form>${said("enter")}${providerLinks(realm, back)}
      <p class="foot">New here? ${signup ? open : invited}<br>Lost your passkey? <a href="${formAt("recover")}">Use a recovery code</a></p>`;
}

/** For users who are already signed in. They can continue to the page they came from, or open their account. */
function knownForm(realm: Realm, { name, back }: Extract<PageState, { kind: "known" }>): Html {
  const site = back.startsWith("/") ? "" : ` to ${new URL(back).host}`;
  return html`
      <p>You are signed in as <strong>${name}</strong>.</p>
      <a class="provider primary" href="${back}">Continue${site}</a>
      <a class="provider" href="${accountPage(realm, back)}">See your account</a>${said("enter")}
      <button id="signout" type="button">Sign out</button>`;
}

function nextWords({ handlers }: Realm, next: "signin" | "account"): string {
  if (next === "account") return "Back to your account";
  return handlers.has("passkey") ? "Sign in with a passkey" : "Sign in";
}

/** @param back where the user goes after signing in; undefined for the account page */
function body(realm: Realm, state: PageState, back: string | undefined): Html {
  switch (state.kind) {
    case "register":
      return registerForm(realm, back, state);
    case "recover":
      return recoverForm(realm, back, state.name);
    case "login":
      return loginForm(realm, back, state.signup);
    case "known":
      return knownForm(realm, state);
    case "signup":
      return registerForm(realm, back);
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
      <p class="foot"><a href="${state.next === "account" ? accountPage(realm) : `${realm.base}/signin`}">${nextWords(realm, state.next)}</a></p>`
      }`;
    default:
      return nothing;
  }
}

interface Target {
  /** Where the user goes after signing in, a path of the platform or a trusted URL; undefined for the account page. */
  back: string | undefined;
  /** Whether the user goes to the account page first, which then has a link to `back`. */
  account: boolean;
}

export function signinPage(realm: Realm, state: PageState, { back, account }: Target): string {
  return pageHtml(realm, {
    kind: state.kind,
    heading: title(state),
    content: body(realm, state, back),
    hasScript: state.kind !== "refused" && state.kind !== "bootstrap",
    ...(back === undefined || account ? { next: accountPage(realm, back), account: true } : { next: back }),
  });
}

export interface PageParts {
  /** Tells the page's script which kind of page this is. */
  kind: string;
  heading: string;
  content: Html;
  hasScript: boolean;
  /** Where the user goes after signing in. */
  next?: string;
  /** Whether `next` is the page of the user's account. */
  account?: boolean;
}

/** Returns a page in the look of the sign-in page. */
export function pageHtml(realm: Realm, parts: PageParts): string {
  const { kind, heading, content, hasScript, next = "", account = false } = parts;
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
<body data-base="${realm.base}" data-state="${kind}" data-next="${next}" data-account="${String(account)}">
  <main id="card">
    ${mark}${enter}
    <noscript><p>Passkeys need JavaScript. Please allow it for this page.</p></noscript>
  </main>
</body>
</html>
`.markup;
}
