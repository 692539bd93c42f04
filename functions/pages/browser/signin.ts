/** Script of the sign-in page. The HTML contains all elements, and the script shows and hides them. */
import { browserSupportsWebAuthn, startAuthentication, startRegistration } from "@simplewebauthn/browser";
import { realmApi, type Session } from "./api.ts";
import { showPasskeys } from "./passkeys.ts";
import { wordsFor } from "./words.ts";

const byId = (id: string) => document.getElementById(id);
const page = document.body.dataset;
const api = realmApi(page.base ?? "");
const query = new URLSearchParams(location.search);

function show(id: string, visible: boolean): void {
  const element = byId(id);
  if (element !== null) element.hidden = !visible;
}

/** Where messages appear on the page: next to the button that the user pressed. */
type Place = "enter" | "token" | "passkeys";
let place: Place = "enter";

function say(kind: "status" | "error", text: string): void {
  const element = document.querySelector(`#said-${place} .${kind}`);
  if (element === null) return;
  element.textContent = text;
  // On a small screen, the message may be below the fold.
  if (text !== "") element.scrollIntoView({ block: "nearest" });
}

/** Clears all messages and sets the place where new messages appear. */
function speakAt(next: Place): void {
  say("status", "");
  say("error", "");
  place = next;
}

/** Whether the user has pressed a button and waits for the result. */
let working = false;

let pressed: Element | null = null;

function busy(on: boolean): void {
  if (on && !working) pressed = document.activeElement;
  working = on;
  for (const button of document.querySelectorAll("button")) button.disabled = on;
  byId("card")?.setAttribute("aria-busy", String(on));
  // Restore the focus for keyboard users, unless it has moved to something new.
  const lost = document.activeElement === null || document.activeElement === document.body;
  if (!on && lost && pressed instanceof HTMLButtonElement) pressed.focus();
}

const trusted = (page.origins ?? "").split(" ").filter((origin) => origin !== "");

/**
 * Returns the URL to open after sign-in, or null if it is not trusted.
 * Always use the whole URL: the path `/.//other.example` alone would lead to another site.
 */
function returnAddress(): URL | null {
  const wanted = query.get("return");
  if (wanted === null) return null;
  const isPath = /^\/(?![/\\])/.test(wanted);
  if (!isPath && !/^https?:\/\/[^/\\]/.test(wanted)) return null;
  try {
    const url = new URL(wanted, location.origin);
    if (url.username !== "" || url.password !== "") return null;
    if (isPath) return url.origin === location.origin && !url.pathname.startsWith("//") ? url : null;
    return trusted.includes(url.origin) ? url : null;
  } catch {
    return null;
  }
}

const siteOf = (url: URL) => (url.origin === location.origin ? "" : ` to ${url.host}`);

function signedIn(session: Session): void {
  const next = returnAddress();
  if (next !== null) {
    say("status", `Signed in as ${session.name}. Redirecting${siteOf(next)} …`);
    location.replace(next.href);
    return;
  }
  const who = byId("who");
  if (who !== null) who.textContent = session.name;
  show("enter", false);
  show("account", true);
  speakAt("token");
  byId("copy")?.addEventListener("click", () => void copy(session.token));
  // The invitation in the URL is used up, so a reload must not try it again.
  history.replaceState(null, "", location.pathname);
  document.title = `Signed in · ${page.title ?? ""}`;
  byId("account-title")?.focus();
  passkeys().catch(() => undefined);
  say("status", page.state === "register" ? "Your passkey was created." : "Welcome back.");
}

async function passkeys(): Promise<void> {
  const list = byId("passkeys");
  if (list === null) return;
  await showPasskeys(
    list,
    api,
    (act) => attempt("register", act, "", "passkeys"),
    (text) => say("status", text),
  );
}

async function copy(token: string): Promise<void> {
  speakAt("token");
  try {
    await navigator.clipboard.writeText(token);
    say("status", "Copied. Anyone who has this token can act as you for 12 hours: keep it secret.");
  } catch {
    const field = byId("token");
    if (!(field instanceof HTMLInputElement)) return;
    field.value = token;
    field.hidden = false;
    field.select();
    say("error", "The browser does not allow copying. Copy the token from the field, and keep it secret.");
  }
}

async function attempt(
  doing: "register" | "login",
  act: () => Promise<void>,
  meanwhile: string,
  where: Place = place,
): Promise<void> {
  speakAt(where);
  say("status", meanwhile);
  busy(true);
  try {
    await act();
  } catch (error) {
    say("status", "");
    say("error", wordsFor(error, doing));
  } finally {
    busy(false);
  }
}

const WAITING = "Follow the instructions of your browser or device …";

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
  await passkeys();
  say("status", "The passkey was added to your account.");
}

async function signOut(): Promise<void> {
  await api.signOut();
  location.assign(location.pathname);
}

function start(): void {
  if (!browserSupportsWebAuthn()) {
    busy(true);
    say(
      "error",
      "This browser does not support passkeys, or not at this address. Use a current browser, and open the address that you were given.",
    );
    return;
  }
  byId("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (page.state === "register") void attempt("register", register, WAITING);
    else void attempt("login", login, WAITING);
  });
  byId("add")?.addEventListener("click", () => void attempt("register", addPasskey, WAITING, "passkeys"));
  for (const button of document.querySelectorAll(".signout")) {
    button.addEventListener("click", () => {
      const where = button.closest("#account") === null ? "enter" : "passkeys";
      void attempt("register", signOut, "Signing out …", where);
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
  busy(false);
}

start();
