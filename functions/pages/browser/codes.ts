import type { RealmApi } from "./api.ts";
import { copy } from "./copy.ts";
import { byId, day, part, show, twice } from "./dom.ts";
import { attempt, say } from "./feedback.ts";

const USE = "With a recovery code you get back into your account if you lose all your passkeys.";

/** Shows new recovery codes. The user can see them only this once. */
function showMade(codes: string[]): void {
  byId("codes")?.replaceChildren(...codes.map((code) => part("li", {}, part("code", {}, code))));
  const where = byId("codes-where");
  if (where !== null) where.textContent = location.origin + location.pathname;
  const copying = byId("codes-copy");
  if (copying !== null)
    copying.onclick = () =>
      void copy(
        "codes",
        codes.join("\n"),
        null,
        "Copied. Keep the codes secret.",
        "Print the codes, or write them down.",
      );
  const printing = byId("codes-print");
  if (printing !== null) printing.onclick = () => print();
  show("codes-made", true);
  byId("codes-title")?.focus();
  say("status", "These are your new codes. Copy or print them now, because they are not shown again.");
}

/** Shows how many recovery codes the account has left, and a button that creates new ones. */
export async function showCodes(api: RealmApi): Promise<void> {
  const { remaining, createdAt } = await api.countCodes();
  show("codes-part", remaining !== undefined);
  const state = byId("codes-state");
  if (state === null || remaining === undefined) return;
  const some = remaining > 0 && createdAt !== null;
  state.textContent = some
    ? `You have ${remaining} codes, made on ${day(createdAt)}. ${USE}`
    : `You have no codes. ${USE}`;
  const make = () =>
    void attempt("codes", async () => {
      const codes = await api.makeCodes();
      await showCodes(api);
      showMade(codes);
    });
  const first = part("button", { type: "button", onclick: make }, "Make ten recovery codes");
  const again = twice("Make new codes", "Replace the old codes?", () => "", make).button;
  byId("codes-act")?.replaceChildren(some ? again : first);
}
