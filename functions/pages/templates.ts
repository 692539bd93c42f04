import { platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { accountPage } from "../realm/return-address.ts";
import { directionOf, LANGUAGES, OWN_NAMES } from "../texts/languages.ts";
import { files } from "./assets.generated.ts";
import { accentName } from "./branding.ts";
import { filledHtml, type Html, html, nothing } from "./html.ts";
import type { Place } from "./place.ts";
import type { WordKey, Words } from "./texts/words.ts";

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

const INVITED_AS: Readonly<Record<string, WordKey>> = {
  owner: "page.asOwner",
  admin: "page.asAdmin",
  user: "page.asUser",
};

/** Keys of the headings, by kind of page. */
const TITLES: Readonly<Record<Exclude<PageState["kind"], "refused">, WordKey>> = {
  login: "page.signIn",
  register: "page.createTitle",
  recover: "page.recoverTitle",
  signup: "page.createAccount",
  bootstrap: "page.bootstrapTitle",
  known: "page.isItYou",
};

/** Returns the name of a realm. Orbs have names of their own. */
function realmName({ text }: Words, { title }: Realm): string {
  if (title === platformRealm.title) return text("page.realmPlatform");
  return title === sharedRealm.title ? text("page.realmShared") : title;
}

/** Returns a query string of the parameters that have a value. */
function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** Returns a sign-in link for each OpenID Connect provider. @param invite code of an invitation */
function providerLinks(
  { text }: Words,
  { providers, base }: Realm,
  back: string | undefined,
  invite?: string,
): Html {
  const query = queryOf({ invite, return: back });
  return providers.reduce(
    (links, { id, name }) => html`${links}
      <a class="provider" href="${base}/oauth/${id}${query}">${text("page.continueWith", { provider: name ?? id })}</a>`,
    nothing,
  );
}

const signinLink = ({ base }: Realm, back: string | undefined, words: string): Html =>
  html`<a href="${base}/signin${queryOf({ return: back })}">${words}</a>`;

/** @param invited the code of the invitation, and the role that it grants; undefined without an invitation */
function registerForm(
  words: Words,
  realm: Realm,
  back: string | undefined,
  invited?: { role: string; invite: string },
): Html {
  const { text } = words;
  const links = providerLinks(words, realm, back, invited?.invite);
  const { role } = invited ?? {};
  const known = realm.name === "platform" ? "page.asPlatform" : INVITED_AS[role ?? ""];
  const why = role === undefined ? "" : `${text(known ?? "page.asOther", { role })} `;
  if (!realm.handlers.has("passkey"))
    return html`
      <p>${why}${text("page.signupProvider")}</p>${said("enter")}${links}`;
  return html`
      <p>${why}${text("page.signupPasskey")}</p>
      <form id="form" action="" novalidate>
        <div class="row">
          <label for="name">${text("page.name")} <span class="hint">${text("page.optional")}</span></label>
          <input id="name" name="name" type="text" maxlength="64" autocomplete="nickname" spellcheck="false" dir="auto">
        </div>
        <button class="primary" type="submit" disabled>${text("page.createPasskey")}</button>
      </form>${said("enter")}${links}
      <p class="foot">${text("page.hasPasskey")} ${signinLink(realm, back, text("page.signIn"))}</p>`;
}

const strong = (text: string): Html => html`<strong dir="auto">${text}</strong>`;

function recoverForm(words: Words, realm: Realm, back: string | undefined, name: string | null): Html {
  const { text, form } = words;
  const intro =
    name === null
      ? html`${text("page.recoverCode")}`
      : filledHtml(form("page.recoverFor"), { name: strong(name) });
  const code = html`
        <div class="row">
          <label for="code">${text("page.code")}</label>
          <input id="code" type="text" maxlength="64" autocapitalize="characters" autocomplete="off" spellcheck="false" dir="ltr">
        </div>`;
  const choice = (value: "keep" | "remove", checked: Html) => html`
          <label class="check"><input type="radio" name="old" value="${value}"${checked}> <span>${text(`page.${value}`)} <span class="hint">${text(`page.${value}Hint`)}</span></span></label>`;
  return html`
      <p>${intro}</p>
      <form id="form" action="" novalidate>${name === null ? code : nothing}
        <fieldset>
          <legend>${text("page.oldPasskeys")}</legend>${choice("keep", html` checked`)}${choice("remove", nothing)}
        </fieldset>
        <button class="primary" type="submit" disabled>${text("page.createPasskey")}</button>
      </form>${said("enter")}
      <p class="foot">${name === null ? html`${text("page.noCode")}<br>` : nothing}${text("page.foundPasskey")} ${signinLink(realm, back, text("page.signIn"))}</p>`;
}

/** @param signup whether to offer a registration without an invitation */
function loginForm(words: Words, realm: Realm, back: string | undefined, signup: boolean): Html {
  const { text } = words;
  const invited = html`${text("page.invited")}`;
  const formAt = (form: "signup" | "recover") =>
    `${realm.base}/signin${queryOf({ [form]: "true", return: back })}`;
  const open = html`<a href="${formAt("signup")}">${text("page.createAccount")}</a>`;
  const links = providerLinks(words, realm, back);
  if (!realm.handlers.has("passkey"))
    return html`${said("enter")}${links}
      <p class="foot">${text("page.new")} ${signup ? text("page.firstCreates") : invited}</p>`;
  return html`
      <p>${text("page.usePasskey")}</p>
      <form id="form" action="" novalidate>
        <button class="primary" type="submit" disabled>${text("page.signInPasskey")}</button>
      </form>${said("enter")}${links}
      <p class="foot">${text("page.new")} ${signup ? open : invited}<br>${text("page.lostPasskey")} <a href="${formAt("recover")}">${text("page.useCode")}</a></p>`;
}

/** For users who are already signed in. They can continue to the page they came from, or open their account. */
function knownForm(
  { text, form }: Words,
  realm: Realm,
  { name, back }: Extract<PageState, { kind: "known" }>,
): Html {
  const next = back.startsWith("/")
    ? text("page.continue")
    : text("page.continueAt", { host: new URL(back).host });
  return html`
      <p>${filledHtml(form("page.signedInAs"), { name: strong(name) })}</p>
      <a class="provider primary" href="${back}">${next}</a>
      <a class="provider" href="${accountPage(realm, back)}">${text("page.account")}</a>${said("enter")}
      <button id="signout" type="button">${text("page.signOut")}</button>`;
}

function nextKey({ handlers }: Realm, next: "signin" | "account"): WordKey {
  if (next === "account") return "page.backToAccount";
  return handlers.has("passkey") ? "page.signInPasskey" : "page.signIn";
}

/** @param back where the user goes after signing in; undefined for the account page */
function body(words: Words, realm: Realm, state: PageState, back: string | undefined): Html {
  const { text, form } = words;
  switch (state.kind) {
    case "register":
      return registerForm(words, realm, back, state);
    case "recover":
      return recoverForm(words, realm, back, state.name);
    case "login":
      return loginForm(words, realm, back, state.signup);
    case "known":
      return knownForm(words, realm, state);
    case "signup":
      return registerForm(words, realm, back);
    case "bootstrap":
      return html`
      <p>${text("page.bootstrapText")}</p>
      <p>${filledHtml(form("page.bootstrapLost"), { command: html`<code dir="ltr">npm run admin:invite</code>` })}</p>`;
    case "refused":
      return html`
      <p>${state.words}</p>${
        state.next === null
          ? nothing
          : html`
      <p class="foot"><a href="${state.next === "account" ? accountPage(realm) : `${realm.base}/signin`}">${text(nextKey(realm, state.next))}</a></p>`
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

export function signinPage(words: Words, realm: Realm, state: PageState, { back, account }: Target): string {
  return pageHtml(words, realm, {
    kind: state.kind,
    heading: state.kind === "refused" ? state.title : words.text(TITLES[state.kind]),
    content: body(words, realm, state, back),
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

/** Returns the choice of a language. Each has its own name, so that people find theirs. */
function languageChoice({ text, chosen }: Words): Html {
  const option = (value: string, attributes: Html, name: string) => html`
        <option value="${value}"${attributes}${value === (chosen ?? "") ? html` selected` : nothing}>${name}</option>`;
  const options = LANGUAGES.reduce(
    (all, tag) => html`${all}${option(tag, html` lang="${tag}"`, OWN_NAMES[tag])}`,
    option("", nothing, text("page.browserLanguage")),
  );
  return html`
    <p class="language">
      <select id="language" aria-label="${text("page.language")}">${options}
      </select>
    </p>`;
}

/** Returns what the page's script needs: its texts, as data that the browser does not run, and itself. */
const scriptOf = ({ script }: Words): Html => html`
<script type="application/json" id="texts">${{ markup: JSON.stringify(script).replaceAll("<", "\\u003c") }}</script>
<script src="${files.signin.script}" defer></script>`;

/** Returns a page in the look of the sign-in page. */
export function pageHtml(words: Words, realm: Realm, parts: PageParts): string {
  const { kind, heading, content, hasScript, next = "", account = false } = parts;
  const { language, text } = words;
  const name = realmName(words, realm);
  const enter = html`
    <section id="enter" aria-labelledby="enter-title">
      <p class="realm"><bdi>${name}</bdi></p>
      <h1 id="enter-title" tabindex="-1">${heading}</h1>${content}
    </section>`;
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
<html lang="${language}" dir="${directionOf(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading} · ${name}</title>
<link rel="icon" href="${logo ?? ICON}">
<link rel="stylesheet" href="${files.signin.style}">${accent}${hasScript ? scriptOf(words) : nothing}
</head>
<body data-base="${realm.base}" data-state="${kind}" data-next="${next}" data-account="${String(account)}">
  <main id="card">
    ${mark}${enter}
    <noscript><p>${text("page.needScript")}</p></noscript>${hasScript ? languageChoice(words) : nothing}
  </main>
</body>
</html>
`.markup;
}
