/** The page of a signed-in account. */
import type { RealmApi, Session } from "./api.ts";
import { showCodes } from "./codes.ts";
import { copy, FROM_FIELD } from "./copy.ts";
import { byId, inputAt, show } from "./dom.ts";
import { attempt, type Place, say, sayAt, speakAt, WAITING } from "./feedback.ts";
import { addPasskey, showPasskeys } from "./passkeys.ts";
import { showSessions } from "./sessions.ts";
import { offerTokens, showTokens } from "./tokens.ts";
import { wordsFor } from "./words.ts";

/** Loads a part of the page. Its error appears in that part, and the other parts still work. */
async function load(where: Place, part: () => Promise<void>): Promise<void> {
  try {
    await part();
  } catch (error) {
    sayAt(where, "error", wordsFor(error, "register"));
  }
}

/** Shows the account and its parts. */
export function showAccount(api: RealmApi, session: Session, greeting: string): void {
  // The token of the session that the cookie has, which a new passkey replaces.
  let { token } = session;
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
  byId("add")?.addEventListener("click", () => {
    const add = async () => {
      ({ token } = await addPasskey(api));
    };
    void attempt("passkeys", add, WAITING);
  });
  document.title = `Signed in · ${title}`;
  byId("account-title")?.focus();
  void load("passkeys", () => showPasskeys(api));
  void load("codes", () => showCodes(api));
  void load("sessions", () => showSessions(api));
  void load("tokens", () => showTokens(api));
  say("status", greeting);
}
