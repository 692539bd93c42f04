import { startRegistration } from "@simplewebauthn/browser";
import type { Passkey, RealmApi, Session } from "./api.ts";
import { byId, day, part, twice } from "./dom.ts";
import { attempt, say } from "./feedback.ts";
import { showSessions } from "./sessions.ts";

function told(passkey: Passkey): string {
  const added = `Added ${day(passkey.createdAt)}`;
  return passkey.lastUsedAt === null ? added : `${added}, last used ${day(passkey.lastUsedAt)}`;
}

function itemOf(api: RealmApi, passkey: Passkey, isLast: boolean): HTMLLIElement {
  const remove = twice(
    "Remove",
    "Remove for good?",
    () => passkey.name,
    () =>
      void attempt("passkeys", async () => {
        await api.removePasskey(passkey.id);
        // Removing a passkey ends the sessions that it started, so reload both lists.
        await Promise.all([showPasskeys(api), showSessions(api)]);
        byId("passkeys-title")?.focus();
        say("status", `${passkey.name} was removed. Delete it on its device, too.`);
      }),
  );
  const name = part("input", { type: "text", value: passkey.name, maxLength: 64 });
  name.setAttribute("aria-label", "Name of the passkey");
  // Do not render the list again, because keyboard users would lose the focus.
  name.addEventListener("change", () => {
    const wanted = name.value.trim();
    void attempt("passkeys", async () => {
      if (wanted !== "") {
        await api.renamePasskey(passkey.id, wanted);
        passkey.name = wanted;
        remove.renew();
        say("status", `The passkey is called ${wanted} now.`);
      }
      name.value = passkey.name;
    });
  });
  const item = part(
    "li",
    {},
    part("div", {}, name, part("p", { className: "hint", textContent: told(passkey) })),
  );
  // Omit the button for the last passkey, because the user could not sign in without it.
  if (!isLast) item.append(remove.button);
  return item;
}

/** Loads the passkeys of the account and shows them in a list. */
export async function showPasskeys(api: RealmApi): Promise<void> {
  const passkeys = await api.listPasskeys();
  byId("passkeys")?.replaceChildren(
    ...passkeys.map((passkey) => itemOf(api, passkey, passkeys.length === 1)),
  );
}

/**
 * Adds a passkey to the account.
 * @returns the new session, which the server started with the passkey
 */
export async function addPasskey(api: RealmApi): Promise<Session> {
  const { sessionId, publicKey } = await api.beginRegistration({ add: true });
  const session = await api.complete(sessionId, await startRegistration({ optionsJSON: publicKey }));
  await Promise.all([showPasskeys(api), showSessions(api)]);
  say("status", "The passkey was added to your account.");
  return session;
}
