import type { Passkey, realmApi } from "./api.ts";

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

function part<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(tag), properties);
}

function told(passkey: Passkey): string {
  const added = `Added ${DATE.format(new Date(passkey.createdAt))}`;
  return passkey.lastUsedAt === null
    ? added
    : `${added}, last used ${DATE.format(new Date(passkey.lastUsedAt))}`;
}

/**
 * Shows the passkeys of the account.
 * @param attempt runs an action and shows its error
 * @param say shows a success message
 */
export async function showPasskeys(
  list: HTMLElement,
  api: ReturnType<typeof realmApi>,
  attempt: (act: () => Promise<void>) => Promise<void>,
  say: (text: string) => void,
): Promise<void> {
  const passkeys = await api.listPasskeys();
  list.replaceChildren(
    ...passkeys.map((passkey) => {
      const item = part("li", {});
      const name = part("input", { type: "text", value: passkey.name, maxLength: 64 });
      name.setAttribute("aria-label", "Name of the passkey");
      const remove = part("button", { type: "button" });
      let sure = false;
      const ask = (again: boolean) => {
        sure = again;
        remove.textContent = again ? `Remove ${passkey.name} for good?` : `Remove ${passkey.name}`;
      };
      ask(false);
      // Do not render the list again, because keyboard users would lose their position.
      name.addEventListener("change", () => {
        const wanted = name.value.trim();
        void attempt(async () => {
          if (wanted !== "") {
            await api.renamePasskey(passkey.id, wanted);
            passkey.name = wanted;
            say(`The passkey is called ${wanted} now.`);
          }
          name.value = passkey.name;
          ask(false);
        });
      });
      remove.addEventListener("blur", () => ask(false));
      remove.addEventListener("click", () => {
        if (!sure) {
          ask(true);
          return;
        }
        void attempt(async () => {
          await api.removePasskey(passkey.id);
          await showPasskeys(list, api, attempt, say);
          document.getElementById("passkeys-title")?.focus();
          say(`${passkey.name} was removed. Delete it on its device, too.`);
        });
      });
      item.append(name, part("p", { className: "hint", textContent: told(passkey) }));
      // The last passkey cannot be removed, because the account could no longer sign in.
      if (passkeys.length > 1) item.append(remove);
      return item;
    }),
  );
}
