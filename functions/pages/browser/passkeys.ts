import { browserSupportsWebAuthn, startRegistration } from "@simplewebauthn/browser";
import type { Passkey, RealmApi, Session } from "./api.ts";
import { byId, day, part, twice } from "./dom.ts";
import { attempt, say } from "./feedback.ts";
import { Refused, unlessGone } from "./words.ts";

function told(passkey: Passkey): string {
  const added = `Added ${day(passkey.createdAt)}`;
  return passkey.lastUsedAt === null ? added : `${added}, last used ${day(passkey.lastUsedAt)}`;
}

function itemOf(
  api: RealmApi,
  passkey: Passkey,
  isLast: boolean,
  reload: () => Promise<void>,
): HTMLLIElement {
  const remove = twice(
    "Remove",
    "Remove for good?",
    () => passkey.name,
    () =>
      void attempt("passkeys", async () => {
        await api.removePasskey(passkey.id).catch(unlessGone);
        await reload();
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
  // Show no button for the last way to sign in: removing it would lock the user out.
  if (!isLast) item.append(remove.button);
  return item;
}

/**
 * Shows the passkeys of the account in a list.
 * @param isLast whether a passkey is the account's last way to sign in
 * @param reload loads the lists again after a passkey was removed
 */
export function showPasskeys(
  api: RealmApi,
  passkeys: Passkey[],
  isLast: boolean,
  reload: () => Promise<void>,
): void {
  const add = byId("add");
  if (add !== null) add.textContent = passkeys.length === 0 ? "Add a passkey" : "Add another passkey";
  byId("passkeys")?.replaceChildren(...passkeys.map((passkey) => itemOf(api, passkey, isLast, reload)));
}

/**
 * Adds a passkey to the account.
 * @returns the new session that the server starts with the passkey
 */
export async function addPasskey(api: RealmApi, reload: () => Promise<void>): Promise<Session> {
  if (!browserSupportsWebAuthn()) throw new Refused("unsupported");
  const { sessionId, publicKey } = await api.beginRegistration({ add: true });
  const session = await api.complete(sessionId, await startRegistration({ optionsJSON: publicKey }));
  await reload();
  say("status", "The passkey was added to your account.");
  return session;
}
