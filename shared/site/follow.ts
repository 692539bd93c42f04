/** Connects a page with the console that shows it in a frame. */
import { FIELD } from "./link.ts";
import {
  type EntryMessage,
  fieldMessage,
  type PreviewEntry,
  readEntryMessage,
  readyMessage,
} from "./messages.ts";

const HOVER = `[${FIELD}]:hover { outline: 2px solid #2563eb; outline-offset: 2px; cursor: pointer; }`;

const marked = (root: ParentNode): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(`[${FIELD}]`)];
const fieldOf = (element: Element): string => element.getAttribute(FIELD) ?? "";
const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** Returns the text of a value: at the path of a field, whose parts are names, positions and keys of items. */
function textAt(values: PreviewEntry["values"], path: string): string | undefined {
  let found: unknown = values;
  for (const part of path.split("/")) {
    if (Array.isArray(found))
      found = found.find((item: { _key?: unknown } | null) => item?._key === part) ?? found[Number(part)];
    else found = typeof found === "object" && found !== null ? Reflect.get(found, part) : undefined;
  }
  if (found === null || found === undefined) return "";
  return typeof found === "object" ? undefined : String(found);
}

/** Returns HTML in the form in which the browser writes it. */
function normal(html: string): string {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.innerHTML.trim();
}

/** Shows what an element shows of an entry. Replaced only if it shows a value as it is, not in another form. */
type Show = (entry: PreviewEntry) => void;

function showOf(element: HTMLElement, stored: PreviewEntry): Show | undefined {
  const field = fieldOf(element);
  const html = Object.hasOwn(stored.html, field) ? stored.html[field] : undefined;
  if (html !== undefined)
    return normal(html) === element.innerHTML.trim()
      ? (entry) => {
          element.innerHTML = entry.html[field] ?? "";
        }
      : undefined;
  const text = textAt(stored.values, field);
  if (text === undefined || element.childElementCount > 0 || plain(text) !== plain(element.textContent ?? ""))
    return undefined;
  return (entry) => {
    element.textContent = textAt(entry.values, field) ?? "";
  };
}

/** Loads the page again in the background, and replaces the marked elements. */
async function renew(signal: AbortSignal): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: "text/html" }, signal });
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [before, after] = [marked(document), marked(next)];
  if (before.map(fieldOf).join("\n") !== after.map(fieldOf).join("\n")) {
    location.reload();
    return;
  }
  for (const [at, element] of before.entries()) {
    const made = after[at];
    // An element inside another one was replaced with that one.
    if (made !== undefined && element.isConnected) element.replaceWith(document.importNode(made, true));
  }
}

/** Changes the page itself, for pages that a server renders. */
function patching(): (message: EntryMessage) => void {
  let shows: Show[] | undefined;
  let typed: PreviewEntry | undefined;
  let loading: AbortController | undefined;
  const find = (stored: PreviewEntry) => {
    shows = marked(document).flatMap((element) => showOf(element, stored) ?? []);
    if (typed !== undefined) for (const show of shows) show(typed);
  };
  return (message) => {
    if (message.type === "typed") {
      typed = message;
      for (const show of shows ?? []) show(message);
      return;
    }
    typed = undefined;
    if (shows === undefined) {
      find(message);
      return;
    }
    shows = [];
    loading?.abort();
    loading = new AbortController();
    const { signal } = loading;
    renew(signal).then(
      () => {
        if (!signal.aborted) find(message);
      },
      () => undefined,
    );
  };
}

/**
 * Follows the console, if it shows this page in a frame.
 * @param platform origin of the platform
 * @returns a function that ends this
 */
export function followConsole(platform: string, update?: (entry: PreviewEntry) => void): () => void {
  if (typeof window === "undefined" || window.parent === window) return () => undefined;
  const { parent } = window;
  const show = update ?? patching();
  const onMessage = ({ origin, source, data }: MessageEvent<unknown>) => {
    if (origin !== platform || (source !== parent && source !== window.top)) return;
    const message = readEntryMessage(data);
    if (message !== undefined) show(message);
  };
  const onClick = (event: MouseEvent) => {
    const element = event.target instanceof Element ? event.target.closest(`[${FIELD}]`) : null;
    if (element === null) return;
    // A click opens the field, and not the link that the element may contain.
    event.preventDefault();
    event.stopPropagation();
    parent.postMessage(fieldMessage(fieldOf(element)), platform);
  };
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(HOVER);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  addEventListener("message", onMessage);
  document.addEventListener("click", onClick, true);
  parent.postMessage(readyMessage(), platform);
  return () => {
    removeEventListener("message", onMessage);
    document.removeEventListener("click", onClick, true);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  };
}
