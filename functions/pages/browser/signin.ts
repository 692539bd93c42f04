/** Script of the sign-in page. */
import { LANGUAGES } from "../../texts/languages.ts";
import { realmApi } from "./api.ts";
import { type NewPasskey, requirePasskeys, type Session } from "./ceremony.ts";
import { byId, inputAt } from "./dom.ts";
import { attempt, busy, check, say } from "./feedback.ts";
import { chosenLanguage, keepLanguage } from "./language.ts";
import { startProgram } from "./program.ts";
import { text } from "./texts.ts";
import { wordsFor } from "./words.ts";

const page = document.body.dataset;
const api = realmApi(page.base ?? "");
const code = inputAt("code");

/** Opens the next page. The account page tells the user what happened. */
function signedIn({ name }: Session): void {
  const next = new URL(page.next ?? "/", location.origin);
  if (page.account === "true")
    next.searchParams.set("after", code === null ? (page.state ?? "login") : "code");
  const { host, origin } = next;
  say(
    "status",
    origin === location.origin
      ? text("script.signedIn", { name })
      : text("script.signedInTo", { name, host }),
  );
  location.replace(next.href);
}

function newPasskey(): NewPasskey {
  const name = inputAt("name")?.value.trim() ?? "";
  const given = name === "" ? {} : { name };
  const invite = new URLSearchParams(location.search).get("invite") ?? "";
  if (page.state === "signup") return { signup: given };
  if (page.state !== "recover") return { invite, ...given };
  const removePasskeys = document.querySelector("[name=old][value=remove]:checked") !== null;
  return code === null ? { invite, removePasskeys } : { recoveryCode: code.value, removePasskeys };
}

const register = async () => signedIn(await api.register(newPasskey()));
const login = async () => signedIn(await api.signIn());

async function signOut(): Promise<void> {
  await api.signOut();
  location.reload();
}

/** Shows the page in another language. */
function offerLanguages(): void {
  const choice = byId("language");
  if (!(choice instanceof HTMLSelectElement)) return;
  // A page that the browser kept may be older than the choice.
  choice.value = chosenLanguage() ?? "";
  choice.addEventListener("change", () => {
    keepLanguage(LANGUAGES.find((language) => language === choice.value));
    location.reload();
  });
}

function start(): void {
  offerLanguages();
  if (page.state === "program") {
    startProgram(api);
    return;
  }
  const form = byId("form");
  try {
    if (form !== null) requirePasskeys();
  } catch (error) {
    busy(true);
    say("error", wordsFor(error, "login"));
    return;
  }
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (page.state === "login") void attempt("enter", login, text("script.waiting"), "login");
    else if (check("enter", code, code?.value.trim() !== "", text("script.enterCode")))
      void attempt("enter", register, text("script.waiting"));
  });
  byId("signout")?.addEventListener("click", () => void attempt("enter", signOut, text("script.signingOut")));
  busy(false);
}

start();
