/** Script of the sign-in page. */
import { realmApi } from "./api.ts";
import { type NewPasskey, requirePasskeys, type Session } from "./ceremony.ts";
import { byId, inputAt } from "./dom.ts";
import { attempt, busy, check, say, WAITING } from "./feedback.ts";
import { startProgram } from "./program.ts";
import { wordsFor } from "./words.ts";

const page = document.body.dataset;
const api = realmApi(page.base ?? "");
const code = inputAt("code");

/** Opens the next page. The account page tells the user what happened. */
function signedIn({ name }: Session): void {
  const next = new URL(page.next ?? "/", location.origin);
  if (page.account === "true")
    next.searchParams.set("after", code === null ? (page.state ?? "login") : "code");
  const site = next.origin === location.origin ? "" : ` to ${next.host}`;
  say("status", `Signed in as ${name}. Redirecting${site} …`);
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

function start(): void {
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
    if (page.state === "login") void attempt("enter", login, WAITING, "login");
    else if (check("enter", code, code?.value.trim() !== "", "Enter one of your recovery codes."))
      void attempt("enter", register, WAITING);
  });
  byId("signout")?.addEventListener("click", () => void attempt("enter", signOut, "Signing out …"));
  busy(false);
}

start();
