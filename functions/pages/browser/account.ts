/** The page of a signed-in account. */
import type { RealmApi, Session } from "./api.ts";
import { byId, show } from "./dom.ts";
import { attempt, type Place, say, sayAt, speakAt, WAITING } from "./feedback.ts";
import { addPasskey, showPasskeys } from "./passkeys.ts";
import { showSessions } from "./sessions.ts";
import { wordsFor } from "./words.ts";

async function copy(token: string): Promise<void> {
  speakAt("token");
  try {
    await navigator.clipboard.writeText(token);
    say("status", "Copied. Anyone who has this token can act as you for 12 hours: keep it secret.");
  } catch {
    const field = byId("token");
    if (!(field instanceof HTMLInputElement)) return;
    field.value = token;
    field.hidden = false;
    field.select();
    say("error", "The browser does not allow copying. Copy the token from the field, and keep it secret.");
  }
}

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
  const title = document.body.dataset.title ?? "";
  const who = byId("who");
  if (who !== null) who.textContent = session.name;
  show("enter", false);
  show("account", true);
  speakAt("token");
  byId("copy")?.addEventListener("click", () => void copy(session.token));
  byId("add")?.addEventListener("click", () => void attempt("passkeys", () => addPasskey(api), WAITING));
  document.title = `Signed in · ${title}`;
  byId("account-title")?.focus();
  void load("passkeys", () => showPasskeys(api));
  void load("sessions", () => showSessions(api));
  say("status", greeting);
}
