/** Behaviour of the sign-in page. Everything that it shows is there already; this only reveals and speaks. */
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from "@simplewebauthn/browser";
import { realmApi, type Session } from "./api.ts";
import { isSuperseded, wordsFor } from "./words.ts";

/** A challenge lives 5 minutes: the one that waits behind the field is renewed before. */
const RENEW_MS = 4 * 60_000;

const byId = (id: string) => document.getElementById(id);
const page = document.body.dataset;
const api = realmApi(page.base ?? "");
const query = new URLSearchParams(location.search);

function show(id: string, visible: boolean): void {
  const element = byId(id);
  if (element !== null) element.hidden = !visible;
}

function say(id: "status" | "error", text: string): void {
  const element = byId(id);
  if (element !== null) element.textContent = text;
}

function busy(on: boolean): void {
  for (const button of document.querySelectorAll("button")) button.disabled = on;
  byId("card")?.setAttribute("aria-busy", String(on));
}

/** Where to go afterwards: a path of this very origin, or nowhere. */
function returnPath(): string | null {
  const wanted = query.get("return");
  if (wanted === null || !/^\/(?![/\\])/.test(wanted)) return null;
  try {
    const url = new URL(wanted, location.origin);
    return url.origin === location.origin ? url.pathname + url.search + url.hash : null;
  } catch {
    return null;
  }
}

function signedIn(session: Session): void {
  const next = returnPath();
  if (next !== null) {
    say("status", `Signed in as ${session.name}. Going on …`);
    location.replace(next);
    return;
  }
  const who = byId("who");
  if (who !== null) who.textContent = session.name;
  show("enter", false);
  show("account", true);
  show("copy", page.kind === "platform");
  byId("copy")?.addEventListener("click", () => void copy(session.token));
  // The invitation in the address is used up: a reload must not try it again.
  history.replaceState(null, "", location.pathname);
  document.title = `Signed in · ${page.title ?? ""}`;
  byId("account-title")?.focus();
  say("status", `Signed in as ${session.name}.`);
}

async function copy(token: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(token);
    say("status", "The access token is in the clipboard. It is as good as your passkey for 12 hours.");
  } catch {
    say("error", "The browser did not allow to copy.");
  }
}

async function attempt(
  doing: "register" | "login",
  act: () => Promise<void>,
  waiting: string,
): Promise<void> {
  say("error", "");
  say("status", waiting);
  busy(true);
  try {
    await act();
  } catch (error) {
    say("status", "");
    if (!isSuperseded(error)) say("error", wordsFor(error, doing));
    // The ceremony of the button ended the one that waited behind the field.
    if (doing === "login") void offerAutofill();
  } finally {
    busy(false);
  }
}

const WAITING = "Follow your browser or device …";

async function register(): Promise<void> {
  const name = (byId("name") as HTMLInputElement | null)?.value.trim() ?? "";
  const invite = query.get("invite") ?? "";
  const { sessionId, publicKey } = await api.beginRegistration({
    invite,
    ...(name === "" ? {} : { name }),
  });
  const response = await startRegistration({ optionsJSON: publicKey });
  signedIn(await api.complete(sessionId, response));
}

async function login(): Promise<void> {
  const { sessionId, publicKey } = await api.beginLogin();
  const response = await startAuthentication({ optionsJSON: publicKey });
  signedIn(await api.complete(sessionId, response));
}

async function addPasskey(): Promise<void> {
  const { sessionId, publicKey } = await api.beginRegistration({ add: true });
  await api.complete(sessionId, await startRegistration({ optionsJSON: publicKey }));
  say("status", "Another passkey was added to your account.");
}

async function signOut(): Promise<void> {
  await api.signOut();
  location.reload();
}

let renewal: ReturnType<typeof setTimeout> | undefined;

/** Passkeys in the field's autofill, where the browser has that; the button works everywhere. */
async function offerAutofill(): Promise<void> {
  clearTimeout(renewal);
  if (byId("account-field") === null || !(await browserSupportsWebAuthnAutofill())) return;
  show("account-row", true);
  try {
    const { sessionId, publicKey } = await api.beginLogin();
    renewal = setTimeout(() => {
      WebAuthnAbortService.cancelCeremony();
      void offerAutofill();
    }, RENEW_MS);
    const response = await startAuthentication({ optionsJSON: publicKey, useBrowserAutofill: true });
    clearTimeout(renewal);
    await attempt("login", async () => signedIn(await api.complete(sessionId, response)), "Signing in …");
  } catch {
    // It was only an offer: the button tells what is wrong, if anything is.
  }
}

function start(): void {
  if (!browserSupportsWebAuthn()) {
    busy(true);
    say(
      "error",
      "This browser has no passkeys, or not at this address. Use a current browser and the address that you were given.",
    );
    return;
  }
  byId("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (page.state === "register") void attempt("register", register, WAITING);
    else void attempt("login", login, WAITING);
  });
  byId("add")?.addEventListener("click", () => void attempt("register", addPasskey, WAITING));
  byId("signout")?.addEventListener("click", () => void attempt("register", signOut, "Signing out …"));
  byId("continue")?.addEventListener("click", () => location.assign(returnPath() ?? location.pathname));
  show("continue", page.state === "account" && returnPath() !== null);
  busy(false);
  if (page.state === "login") void offerAutofill();
}

start();
