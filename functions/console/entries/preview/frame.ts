/**
 * The frame with the page of a site. The page is inside an empty document of the platform, whose
 * Content-Security-Policy allows the sites that the orb's definition names. So the policy of the console itself allows no
 * other site.
 */
import { type EntryMessage, type PageMessage, readPageMessage } from "../../../../shared/site/messages.ts";

/** What the page may do. It may not open the console's tab at another address. */
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox";

/**
 * Puts the page into the document of the outer frame.
 * @param url address of the page, with the token
 * @returns the frame of the page
 */
export function fillFrame(
  outer: HTMLIFrameElement,
  url: string,
  title: string,
): HTMLIFrameElement | undefined {
  const document = outer.contentDocument;
  if (document === null || document.body === null) return undefined;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", SANDBOX);
  frame.referrerPolicy = "no-referrer";
  frame.title = title;
  Object.assign(document.documentElement.style, { height: "100%" });
  Object.assign(document.body.style, { margin: "0", height: "100%" });
  Object.assign(frame.style, { border: "0", width: "100%", height: "100%", display: "block" });
  frame.src = url;
  document.body.replaceChildren(frame);
  return frame;
}

/**
 * Listens for messages of the page. Takes those of the frame's own page only, and only from the site's origin.
 * @param site origin of the site
 * @returns a function that ends this
 */
export function listenTo(
  outer: HTMLIFrameElement,
  frame: HTMLIFrameElement,
  site: string,
  onMessage: (message: PageMessage) => void,
): () => void {
  const window = outer.contentWindow;
  const listener = ({ origin, source, data }: MessageEvent<unknown>) => {
    if (origin !== site || source === null || source !== frame.contentWindow) return;
    const message = readPageMessage(data);
    if (message !== undefined) onMessage(message);
  };
  window?.addEventListener("message", listener);
  return () => window?.removeEventListener("message", listener);
}

/** Sends a message to the page. The browser drops it if the frame shows a page of another origin by now. */
export const tell = (frame: HTMLIFrameElement, site: string, message: EntryMessage): void =>
  frame.contentWindow?.postMessage(message, site);

/**
 * Moves the focus to the input of a field.
 * @param path the field, or a place in it; the innermost part that has an input gets the focus
 * @param language of the page, whose input is preferred
 */
export function focusField(path: string, fields: ReadonlySet<string>, language: string | undefined): void {
  const parts = path.split("/");
  if (!fields.has(parts[0] ?? "")) return;
  const places = [...document.querySelectorAll<HTMLElement>("main [data-path]")];
  for (let length = parts.length; length > 0; length--) {
    const pointer = `/values/${parts.slice(0, length).join("/")}`;
    const place = places.find(({ dataset }) => dataset.path === pointer);
    if (place === undefined) continue;
    const inputs = [
      ...place.querySelectorAll<HTMLElement>(
        "input:not([type=hidden]), textarea, select, [contenteditable=true], button",
      ),
    ].filter((one) => !one.matches(":disabled"));
    const input = inputs.find((one) => language !== undefined && one.lang === language) ?? inputs[0];
    input?.focus();
    place.scrollIntoView({ block: "center" });
    return;
  }
}
