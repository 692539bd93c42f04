import type { ApiToken, Can, RealmApi } from "./api.ts";
import { copy, FROM_FIELD } from "./copy.ts";
import { byId, day, inputAt, part, show, twice } from "./dom.ts";
import { attempt, check, say } from "./feedback.ts";
import { unlessGone } from "./words.ts";

const LIST = new Intl.ListFormat("en");
const DAY_MS = 24 * 3_600_000;
const ORB_ID = /^[a-z][a-z0-9_-]{1,62}$/;

function told({ scopes, expiresAt, lastUsedAt }: ApiToken): string {
  const rights = scopes.map(
    ({ orb, can }) => `${LIST.format(can)} ${orb === "*" ? "in all applications" : `in ${orb}`}`,
  );
  const end = expiresAt === "never" ? "no end" : `ends ${day(expiresAt)}`;
  const use = lastUsedAt === null ? "not used yet" : `last used ${day(lastUsedAt)}`;
  return `May ${LIST.format(rights)}, ${end}, ${use}`;
}

/** Loads the API tokens of the account and shows them in a list. */
export async function showTokens(api: RealmApi): Promise<void> {
  const tokens = await api.listTokens();
  show("tokens-part", tokens !== null);
  byId("tokens")?.replaceChildren(
    ...(tokens ?? []).map((token) => {
      const remove = twice(
        "Delete",
        "Delete now?",
        () => token.name,
        () =>
          void attempt("tokens", async () => {
            await api.deleteToken(token.id).catch(unlessGone);
            await showTokens(api);
            byId("tokens-title")?.focus();
            say("status", `${token.name} was deleted. Programs that use it stop working.`);
          }),
      );
      const name = part("p", { className: "name" }, token.name);
      return part(
        "li",
        {},
        part("div", {}, name, part("p", { className: "hint" }, told(token))),
        remove.button,
      );
    }),
  );
}

function create(api: RealmApi): void {
  const name = inputAt("api-name");
  const orb = inputAt("api-orb");
  const wanted = orb?.value.trim() ?? "";
  const boxes = [...document.querySelectorAll<HTMLInputElement>("#api-form [name=can]")];
  const can = boxes.filter(({ checked }) => checked).map(({ value }) => value as Can);
  const ok =
    check(
      "tokens",
      name,
      name?.value.trim() !== "",
      "Give the token a name, so that you recognise it later.",
    ) &&
    check(
      "tokens",
      orb,
      wanted === "" || ORB_ID.test(wanted),
      "Enter the id of one application, such as shop, or leave the field empty.",
    ) &&
    check("tokens", boxes[0] ?? null, can.length > 0, "Choose at least one thing that the token may do.");
  if (!ok) return;
  const days = inputAt("api-end")?.value ?? "";
  void attempt("tokens", async () => {
    const text = await api.createToken({
      name: name?.value.trim() ?? "",
      expiresAt: days === "never" ? days : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
      // Tokens of an application's account are limited to that application. Other accounts can choose one application
      // or all of them.
      scopes: [{ orb: orb === null ? api.orb : wanted === "" ? "*" : wanted, can }],
    });
    await showTokens(api);
    (byId("api-form") as HTMLFormElement | null)?.reset();
    byId("api-new")?.removeAttribute("open");
    show("api-made", true);
    const field = inputAt("api-text");
    if (field === null) return;
    field.value = text;
    field.focus();
    field.select();
    say("status", "The token was created. Copy it now, because it is not shown again.");
  });
}

/** Handles submissions of the form that creates tokens, and the button that copies a new token. */
export function offerTokens(api: RealmApi): void {
  byId("api-form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    create(api);
  });
  byId("api-copy")?.addEventListener("click", () => {
    const field = inputAt("api-text");
    void copy("tokens", field?.value ?? "", field, "Copied. Keep the token secret.", FROM_FIELD);
  });
}
