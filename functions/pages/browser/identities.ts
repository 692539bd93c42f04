/** Identities at OpenID Connect providers that are linked to the account. */
import type { Identity, RealmApi } from "./api.ts";
import { byId, day, part, twice } from "./dom.ts";
import { attempt, say, sayAt } from "./feedback.ts";
import { unlessGone } from "./words.ts";

/**
 * Key under which the tab stores the ids of the linked identities before the user goes to a provider. When the user
 * comes back, the page compares them to find the new identity.
 */
const BEFORE = "identities-before";

const buttons = () => [...document.querySelectorAll<HTMLButtonElement>("button[data-provider]")];

/** Returns the provider's name, or the host of the issuer if the application no longer offers the provider. */
function providerOf({ provider, issuer }: Identity): string {
  const button = buttons().find(({ dataset }) => dataset.provider === provider);
  return button?.dataset.name ?? new URL(issuer).host;
}

function told({ provider, label, createdAt }: Identity): string {
  const linked = `${label === null ? "Linked" : `${label}, linked`} on ${day(createdAt)}`;
  return provider === null ? `${linked}. Sign-in with this provider is no longer offered.` : linked;
}

function itemOf(
  api: RealmApi,
  identity: Identity,
  isLast: boolean,
  reload: () => Promise<void>,
): HTMLLIElement {
  const name = providerOf(identity);
  const { button } = twice(
    "Unlink",
    "Unlink now?",
    () => `${name}, ${told(identity)}`,
    () =>
      void attempt("identities", async () => {
        await api.unlinkIdentity(identity.id).catch(unlessGone);
        await reload();
        byId("identities-title")?.focus();
        say("status", `The account at ${name} is no longer linked.`);
      }),
  );
  const title = part("p", { className: "name" }, name);
  const item = part(
    "li",
    {},
    part("div", {}, title, part("p", { className: "hint", textContent: told(identity) })),
  );
  // Show no button for the last way to sign in: removing it would lock the user out.
  if (!isLast) item.append(button);
  return item;
}

/**
 * Shows the identities of the account in a list.
 * @param ways number of passkeys and identities with which the user can sign in
 * @param reload loads the lists again after an identity was removed
 */
export function showIdentities(
  api: RealmApi,
  identities: Identity[],
  ways: number,
  reload: () => Promise<void>,
): void {
  const isLast = ({ provider }: Identity) => ways - (provider === null ? 0 : 1) < 1;
  byId("identities")?.replaceChildren(
    ...identities.map((identity) => itemOf(api, identity, isLast(identity), reload)),
  );
}

/** Handles the buttons that link an identity at a provider to the account. */
export function offerLinks(api: RealmApi): void {
  for (const button of buttons()) {
    const { provider = "", name = "" } = button.dataset;
    const link = async () => {
      const [url, before] = await Promise.all([api.linkIdentity(provider), api.listIdentities()]);
      sessionStorage.setItem(BEFORE, JSON.stringify((before ?? []).map(({ id }) => id)));
      location.assign(url);
    };
    button.addEventListener("click", () => void attempt("identities", link, `Redirecting to ${name} …`));
  }
}

/** After the user has linked an identity and returns from its provider, shows a message that names the provider. */
export function sayLinked(identities: Identity[]): void {
  const before = sessionStorage.getItem(BEFORE);
  sessionStorage.removeItem(BEFORE);
  if (before === null) return;
  const known = new Set(JSON.parse(before) as string[]);
  const linked = identities.find(({ id }) => !known.has(id));
  if (linked === undefined) return;
  byId("identities-title")?.focus();
  sayAt("identities", "status", `Your account at ${providerOf(linked)} is linked. You can sign in with it.`);
}
