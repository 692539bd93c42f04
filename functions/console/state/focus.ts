/**
 * Keeps the keyboard focus on a sensible element. A browser moves the focus to the document if the focused element
 * disappears or is disabled, so the next key press would start at the top of the page.
 */

const FOCUSABLE =
  ":is(a[href], button, input, select, textarea, summary, [tabindex]):not(:disabled, [tabindex='-1'])";
/** The focus stays in the part of the page in which it was. */
const ROOTS = "dialog, main, header, nav, aside";
/** Maximum number of elements after and before the focused one that may get the focus. */
const AROUND = 30;
/** Components that set the focus themselves do so within this many milliseconds. */
const WAIT_MS = 60;

interface Place {
  element: Element;
  /** Elements that may get the focus instead, the best first. */
  others: readonly HTMLElement[];
}

let last: Place | undefined;
let waiting = false;

const isLost = (element: Element): boolean => !element.isConnected || element.matches(":disabled");
const isUsable = (element: Element): boolean => !isLost(element) && element.getClientRects().length > 0;

function remember({ target }: FocusEvent): void {
  if (!(target instanceof HTMLElement)) return;
  const root = target.closest(ROOTS) ?? document.body;
  const all = [...root.querySelectorAll<HTMLElement>(FOCUSABLE)];
  const at = all.indexOf(target);
  // Elements that cannot be focused with the Tab key, such as headings, are not in the list.
  const [after, before] =
    at < 0 ? [[], []] : [all.slice(at + 1, at + AROUND), all.slice(Math.max(0, at - AROUND), at)];
  last = { element: target, others: [...after, ...before.reverse()] };
}

function repair(): void {
  waiting = false;
  const { activeElement } = document;
  if (last === undefined || (activeElement !== document.body && activeElement !== null)) return;
  if (!isLost(last.element)) return;
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  const scope = dialog ?? document.body;
  const next =
    last.others.find((one) => scope.contains(one) && isUsable(one)) ??
    dialog?.querySelector<HTMLElement>(FOCUSABLE) ??
    document.getElementById("page-title") ??
    document.getElementById("main");
  next?.focus({ preventScroll: true });
}

function check(): void {
  // The browser itself gives up the focus of a disabled element later, so look at the element.
  if (waiting || last === undefined || !isLost(last.element)) return;
  waiting = true;
  setTimeout(repair, WAIT_MS);
}

/**
 * Focuses an element once the change that the caller has just made is rendered. Preact renders in a microtask, so no
 * key reaches what had the focus before, as it could with a timer.
 */
export function focusSoon(find: () => HTMLElement | null | undefined): void {
  queueMicrotask(() => find()?.focus());
}

/** Starts to watch the focus. */
export function keepFocus(): void {
  document.addEventListener("focusin", remember);
  new MutationObserver(check).observe(document.documentElement, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ["disabled", "open"],
  });
}
