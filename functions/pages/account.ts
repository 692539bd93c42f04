/** The part of the sign-in page that a signed-in account sees. The page's script fills it. */
import type { Realm } from "../../shared/access/realms.ts";
import { type Html, html, nothing } from "./html.ts";

/** A place in which the page's script shows messages about the elements above it. */
export type Place = "enter" | "token" | "passkeys" | "sessions";

export function said(place: Place): Html {
  return html`
      <div class="said" id="said-${place}"><p class="status" role="status"></p><p class="error" role="alert"></p></div>`;
}

/** Copies the access token. The text field shows the token if the browser does not allow copying. */
const COPY = html`
      <button id="copy" class="primary" type="button">Copy access token</button>
      <input id="token" type="text" readonly hidden aria-label="Access token">`;

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

const SESSIONS = html`
      <section class="part" id="sessions-part" aria-labelledby="sessions-title">
        <h2 id="sessions-title" tabindex="-1">Your sessions</h2>
        <p>Each sign-in lasts until you sign out or it expires. Sign out any that you do not recognise.</p>
        <ul id="sessions"></ul>
        <p id="sessions-more" class="hint"></p>
        <button id="end-others" type="button" hidden>Sign out everywhere else</button>${said("sessions")}
      </section>`;

/** @param registered whether the account is new */
export function accountSection(realm: Realm, registered: boolean): Html {
  const platform = realm.name === "platform";
  return html`
    <section id="account" hidden aria-labelledby="account-title">
      <p class="realm">${realm.title}</p>
      <h1 id="account-title" tabindex="-1">You are signed in</h1>
      <div class="line">
        <p>as <strong id="who"></strong></p>
        <button class="signout small" type="button">Sign out</button>
      </div>${platform ? COPY : nothing}${said("token")}${platform && registered ? NEXT : nothing}${PASSKEYS}${SESSIONS}
    </section>`;
}
