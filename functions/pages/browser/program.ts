/** Script of the page on which a user allows a program to act with the user's account. */
import type { RealmApi } from "./api.ts";
import { copy } from "./copy.ts";
import { byId, inputAt, show } from "./dom.ts";
import { attempt, busy, say, speakAt } from "./feedback.ts";
import { text } from "./texts.ts";

/**
 * The buttons stay disabled for this many milliseconds after the page appears. Otherwise another page could trick the
 * user into a double click, and show this page between the two clicks.
 */
const GUARD_MS = 500;

let timer: ReturnType<typeof setTimeout> | undefined;

function guard(): void {
  clearTimeout(timer);
  busy(true);
  if (document.visibilityState === "visible") timer = setTimeout(() => busy(false), GUARD_MS);
}

/** Disables both buttons after the user has answered. */
function close(): void {
  document.removeEventListener("visibilitychange", guard);
  removeEventListener("focus", guard);
  clearTimeout(timer);
  show("question", false);
}

async function allow(api: RealmApi): Promise<void> {
  const { code, url } = await api.allowProgram(Object.fromEntries(new URLSearchParams(location.search)));
  close();
  if (url !== null) {
    say("status", text("script.allowed"));
    location.replace(url);
    return;
  }
  show("made", true);
  const field = inputAt("program-code");
  if (field === null) return;
  field.value = code;
  field.focus();
  field.select();
  say("status", text("script.allowedCode"));
}

function refuse(): void {
  const url = byId("question")?.dataset.refusal ?? "";
  close();
  speakAt("program");
  if (url === "") byId("enter-title")?.focus();
  else location.replace(url);
  say("status", text("script.refused"));
}

export function startProgram(api: RealmApi): void {
  byId("allow")?.addEventListener(
    "click",
    () => void attempt("program", () => allow(api), text("script.allowing")),
  );
  byId("refuse")?.addEventListener("click", refuse);
  byId("copy")?.addEventListener("click", () => {
    const field = inputAt("program-code");
    void copy("program", field?.value ?? "", field, text("script.copied"), text("script.copyRefused"));
  });
  document.addEventListener("visibilitychange", guard);
  addEventListener("focus", guard);
  guard();
}
