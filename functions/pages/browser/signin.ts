/** Script of the sign-in page. The HTML contains all elements, and the script shows and hides them. */
import { browserSupportsWebAuthn, startAuthentication, startRegistration } from "@simplewebauthn/browser";
import { showAccount } from "./account.ts";
import { realmApi, type Session } from "./api.ts";
import { byId, inputAt, show } from "./dom.ts";
import { attempt, busy, check, say, WAITING } from "./feedback.ts";
import { startProgram } from "./program.ts";
import { returnAddress, siteOf } from "./return.ts";
import { Refused, wordsFor } from "./words.ts";

const page = document.body.dataset;
const api = realmApi(page.base ?? "");
const code = inputAt("code");
const query = new URLSearchParams(location.search);

const GREETING: Record<string, string> = {
  login: "Welcome back.",
  recover: "Your new passkey works. All other devices were signed out.",
  code: "Your new passkey works. All other devices were signed out. Your recovery codes no longer work: make new ones.",
};

function signedIn(session: Session): void {
  const next = returnAddress();
  if (next !== null) {
    say("status", `Signed in as ${session.name}. Redirecting${siteOf(next)} …`);
    location.replace(next.href);
    return;
  }
  openAccount(session, GREETING[code === null ? (page.state ?? "") : "code"] ?? "Your passkey was created.");
}

function openAccount(session: Parameters<typeof showAccount>[1], greeting: string): void {
  // An invitation in the URL is now used up, so remove it: a reload must not try it again.
  history.replaceState(null, "", location.pathname);
  showAccount(api, session, greeting);
}

function beginNew() {
  const name = inputAt("name")?.value.trim() ?? "";
  const given = name === "" ? {} : { name };
  const invite = query.get("invite") ?? "";
  if (page.state === "signup") return api.beginSignup(given);
  if (page.state !== "recover") return api.beginRegistration({ invite, ...given });
  const removePasskeys = document.querySelector("[name=old][value=remove]:checked") !== null;
  return api.beginRegistration(
    code === null ? { invite, removePasskeys } : { recoveryCode: code.value, removePasskeys },
  );
}

async function register(): Promise<void> {
  const { sessionId, publicKey } = await beginNew();
  const response = await startRegistration({ optionsJSON: publicKey });
  signedIn(await api.complete(sessionId, response));
}

async function login(): Promise<void> {
  const { sessionId, publicKey } = await api.beginLogin();
  const response = await startAuthentication({ optionsJSON: publicKey });
  signedIn(await api.complete(sessionId, response));
}

async function signOut(): Promise<void> {
  await api.signOut();
  const back = query.get("return");
  location.assign(location.pathname + (back === null ? "" : `?return=${encodeURIComponent(back)}`));
}

/** Copies this page's `return` parameter to its links to other forms, so that the user still returns to that URL. */
function keepReturn(): void {
  const url = returnAddress();
  if (url === null) return;
  const wanted = url.origin === location.origin ? url.href.slice(url.origin.length) : url.href;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a.on")) {
    link.search += `${link.search === "" ? "?" : "&"}return=${encodeURIComponent(wanted)}`;
  }
}

function start(): void {
  if (page.state === "program") {
    startProgram(api);
    return;
  }
  if (byId("form") !== null && !browserSupportsWebAuthn()) {
    busy(true);
    say("error", wordsFor(new Refused("unsupported"), "login"));
    return;
  }
  byId("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (page.state === "login") void attempt("enter", login, WAITING, "login");
    else if (check("enter", code, code?.value.trim() !== "", "Enter one of your recovery codes."))
      void attempt("enter", register, WAITING);
  });
  for (const button of document.querySelectorAll(".signout")) {
    button.addEventListener("click", () => {
      const where = button.closest("#account") === null ? "enter" : "token";
      void attempt(where, signOut, "Signing out …");
    });
  }
  const back = returnAddress();
  const going = byId("continue");
  if (back !== null && going !== null) {
    going.addEventListener("click", () => location.assign(back.href));
    going.textContent = `Continue${siteOf(back)}`;
    // Make the sign-in button less prominent, because a signed-in user most likely wants to continue.
    byId("form")?.querySelector("button")?.classList.remove("primary");
  }
  show("continue", back !== null);
  keepReturn();
  busy(false);
  const opening = byId("open");
  if (opening === null) return;
  const openKnown = () => openAccount({ name: byId("known")?.textContent ?? "" }, "");
  opening.addEventListener("click", openKnown);
  // Without a URL to return to, the user came to see the account.
  if (back === null) openKnown();
}

start();
