/**
 * HTML of the sign-in page's account section, which only signed-in users see. The script of the page fills in the data.
 */
import { platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { type Html, html, nothing } from "./html.ts";
import type { Place } from "./place.ts";

export function said(place: Place): Html {
  return html`
      <div class="said" id="said-${place}"><p class="status" role="status"></p><p class="error" role="alert"></p></div>`;
}

/**
 * A button that copies the access token. If the browser does not allow copying, the text field shows the token instead.
 */
const COPY = html`
      <button id="copy" type="button">Copy access token</button>
      <input id="token" type="text" readonly hidden aria-label="Access token">`;

/**
 * The link to the console, for platform admins. Other users get no link, because they use an application, not the
 * console.
 */
const CONSOLE = html`
      <a class="provider primary" href="/console">Open the console</a>`;

const NEXT = html`
      <h2>Next steps</h2>
      <p>Commands and programs need the access token; in the README it is <code>TOKEN</code>. Or <a href="/api/docs">try the API in this browser</a>, where you are already signed in.</p>`;

const PASSKEYS = html`
      <section class="part" aria-labelledby="passkeys-title">
        <h2 id="passkeys-title" tabindex="-1">Your passkeys</h2>
        <p>Add one for each device that you use, so that you can still sign in if you lose a device.</p>
        <ul id="passkeys"></ul>
        <button id="add" type="button">Add another passkey</button>${said("passkeys")}
      </section>`;

/**
 * The linked identities, and a button for each OpenID Connect provider. Empty if the application does not offer
 * sign-in with providers.
 */
function identities({ handlers, providers }: Realm): Html {
  if (!handlers.has("oauth")) return nothing;
  const links = providers.map(
    ({ id, name = id }) => html`
        <button type="button" data-provider="${id}" data-name="${name}">Link an account at ${name}</button>`,
  );
  return html`
      <section class="part" id="identities-part" aria-labelledby="identities-title">
        <h2 id="identities-title" tabindex="-1">Linked accounts</h2>
        <p>Sign in with an account that you have at another provider.</p>
        <ul id="identities"></ul>${links.reduce((all, one) => html`${all}${one}`, nothing)}${said("identities")}
      </section>`;
}

const CODES = html`
      <section class="part" id="codes-part" aria-labelledby="codes-title">
        <h2 id="codes-title" tabindex="-1">Recovery codes</h2>
        <p id="codes-state"></p>
        <div id="codes-made" hidden>
          <ol id="codes"></ol>
          <p>Use one at <span id="codes-where"></span>. Then the others stop working.</p>
          <button id="codes-copy" class="primary" type="button">Copy codes</button>
          <button id="codes-print" type="button">Print codes</button>
        </div>
        <div id="codes-act"></div>${said("codes")}
      </section>`;

const SESSIONS = html`
      <section class="part" id="sessions-part" aria-labelledby="sessions-title">
        <h2 id="sessions-title" tabindex="-1">Your sessions</h2>
        <p>Each sign-in lasts until you sign out or it expires. Sign out any that you do not recognise.</p>
        <ul id="sessions"></ul>
        <p id="sessions-more" class="hint"></p>
        <button id="end-others" type="button" hidden>Sign out everywhere else</button>${said("sessions")}
      </section>`;

/** The rights that a user can give an API token: value, label and explanation. */
export const RIGHTS = [
  ["read", "Read", "see what you can see"],
  ["write", "Write", "create, change and delete"],
  ["publish", "Publish", "make drafts public and withdraw them"],
  ["manage", "Manage", "everything else that you may do: accounts, settings, tokens"],
] as const;

function tokens(realm: Realm): Html {
  const own = realm !== platformRealm && realm !== sharedRealm;
  const application = html`
            <div class="row">
              <label for="api-orb">Application <span class="hint">(its id; empty for all)</span></label>
              <input id="api-orb" type="text" maxlength="63" autocapitalize="none" autocomplete="off" spellcheck="false">
            </div>`;
  const checks = RIGHTS.map(
    ([value, name, words]) => html`
              <label class="check"><input type="checkbox" name="can" value="${value}"${value === "read" ? html` checked` : nothing}> <span>${name} <span class="hint">${words}</span></span></label>`,
  );
  return html`
      <section class="part" id="tokens-part" aria-labelledby="tokens-title">
        <h2 id="tokens-title" tabindex="-1">API tokens</h2>
        <p>A program signs in with a token instead of a passkey. It can never do more than you.</p>
        <ul id="tokens"></ul>
        <details id="api-new">
          <summary>New token</summary>
          <form id="api-form" action="" novalidate>
            <div class="row">
              <label for="api-name">Name <span class="hint">(the program that uses it)</span></label>
              <input id="api-name" type="text" maxlength="64" autocomplete="off">
            </div>${own ? nothing : application}
            <div class="row">
              <label for="api-end">Works for</label>
              <select id="api-end">
                <option value="30">30 days</option>
                <option value="90" selected>90 days</option>
                <option value="365">1 year</option>${
                  realm === platformRealm
                    ? html`
                <option value="never">No end</option>`
                    : nothing
                }
              </select>
            </div>
            <fieldset>
              <legend>What it may do</legend>${checks.reduce((all, one) => html`${all}${one}`)}
            </fieldset>
            <button type="submit">Create token</button>
          </form>
        </details>
        <div id="api-made" hidden>
          <label for="api-text">Your new token</label>
          <input id="api-text" type="text" readonly>
          <button id="api-copy" class="primary" type="button">Copy token</button>
        </div>${said("tokens")}
      </section>`;
}

/** @param registered whether the user has just registered */
export function accountSection(realm: Realm, registered: boolean): Html {
  const platform = realm.name === "platform";
  const passkeys = realm.handlers.has("passkey");
  return html`
    <section id="account" hidden aria-labelledby="account-title">
      <p class="realm">${realm.title}</p>
      <h1 id="account-title" tabindex="-1">You are signed in</h1>
      <div class="line">
        <p>as <strong id="who"></strong></p>
        <button class="signout small" type="button">Sign out</button>
      </div>${platform ? CONSOLE : nothing}${platform ? COPY : nothing}${said("token")}${platform && registered ? NEXT : nothing}${passkeys ? PASSKEYS : nothing}${identities(realm)}${passkeys ? CODES : nothing}${SESSIONS}${tokens(realm)}
    </section>`;
}
