/** Shows the account section of the sign-in page after the user has signed in. */

import type { Place } from "../place.ts";
import type { RealmApi, Session } from "./api.ts";
import { showCodes } from "./codes.ts";
import { copy, FROM_FIELD } from "./copy.ts";
import { byId, inputAt, show } from "./dom.ts";
import { attempt, say, sayAt, speakAt, WAITING } from "./feedback.ts";
import { offerLinks, sayLinked } from "./identities.ts";
import { addPasskey } from "./passkeys.ts";
import { showSessions } from "./sessions.ts";
import { offerTokens, showTokens } from "./tokens.ts";
import { showWays } from "./ways.ts";
import { wordsFor } from "./words.ts";

/** Loads one section of the page. An error appears in that section, and the other sections still work. */
async function load(where: Place, part: () => Promise<void>): Promise<void> {
  try {
    await part();
  } catch (error) {
    sayAt(where, "error", wordsFor(error, "register"));
  }
}

/** A session. The page knows its token only if the session began on this page. */
type OpenSession = Pick<Session, "name"> & Partial<Session>;

/** Shows the account section and loads its parts. */
export function showAccount(api: RealmApi, session: OpenSession, greeting: string): void {
  // Access token of the session in the cookie. Adding a passkey starts a new session, so the token changes.
  let { token = "" } = session;
  const title = document.body.dataset.title ?? "";
  const who = byId("who");
  if (who !== null) who.textContent = session.name;
  show("enter", false);
  show("account", true);
  speakAt("token");
  byId("copy")?.addEventListener("click", () => {
    const done = "Copied. Anyone who has this token can act as you for 12 hours: keep it secret.";
    void copy("token", token, inputAt("token"), done, FROM_FIELD);
  });
  offerTokens(api);
  offerLinks(api);
  byId("add")?.addEventListener("click", () => {
    const add = async () => {
      const reload = async () => {
        await Promise.all([showWays(api), showSessions(api)]);
      };
      ({ token } = await addPasskey(api, reload));
    };
    void attempt("passkeys", add, WAITING);
  });
  document.title = `Signed in · ${title}`;
  byId("account-title")?.focus();
  void load(byId("passkeys") === null ? "identities" : "passkeys", async () =>
    sayLinked(await showWays(api)),
  );
  void load("codes", () => showCodes(api));
  void load("sessions", () => showSessions(api));
  void load("tokens", () => showTokens(api));
  say("status", greeting);
}
