/**
 * The change set in which the user edits entries: the parameter `change` of the page's address. It stays in the address
 * while the user moves between the pages of the application, so a reload and a copied link keep it.
 */
import { signal } from "@preact/signals";

interface Editing {
  orb: string;
  /** Id of the set. */
  id: string;
}

const NAME = "change";
const ORB = /^\/console\/orbs\/([^/]+)/;

const orbIn = ({ pathname }: URL): string | undefined => {
  const [, orb] = ORB.exec(pathname) ?? [];
  try {
    return orb === undefined ? undefined : decodeURIComponent(orb);
  } catch {
    // The address is wrong, such as `/console/orbs/%zz`. The router says so.
    return undefined;
  }
};

function editingIn(address: string): Editing | undefined {
  const url = new URL(address, location.href);
  const [orb, id] = [orbIn(url), url.searchParams.get(NAME)];
  return orb === undefined || id === null || id === "" ? undefined : { orb, id };
}

const editing = signal(editingIn(location.href));

/** Reads the set from the address. Call this after each navigation. */
export function updateEditing(): void {
  const [now, before] = [editingIn(location.href), editing.peek()];
  if (now?.orb !== before?.orb || now?.id !== before?.id) editing.value = now;
}

/** Returns the id of the set in which the user edits an application; undefined outside of a set. */
export const changeIn = (orb: string | undefined): string | undefined =>
  editing.value?.orb === orb ? editing.value?.id : undefined;

/** Returns the cache key of something about the change sets of an application; without parts, the prefix of all keys. */
export const setsKey = (orb: string, ...parts: readonly string[]): string =>
  [`orbs/${orb}/sets`, ...parts].join("/");

/** Returns what must stay the same for a form to keep its content: the path, and the set. */
export function pageOf(address: string): string {
  const { pathname } = new URL(address, location.href);
  return `${pathname} ${editingIn(address)?.id ?? ""}`;
}

/**
 * Adds the set to the address of a page of the same application. An empty parameter `change` leaves the set.
 * Does not escape the address again, so that it stays readable.
 */
export function keepChange(to: string): string {
  const url = new URL(to, location.href);
  const given = url.searchParams.get(NAME);
  if (given === "") return to.replace(/([?&])change=(&|(?=#)|$)/, "$1").replace(/[?&]$/, "");
  const { value } = editing;
  if (given !== null || value === undefined || orbIn(url) !== value.orb) return to;
  const [before = "", hash] = to.split("#", 2);
  const added = `${before}${url.search === "" ? "?" : "&"}${NAME}=${encodeURIComponent(value.id)}`;
  return hash === undefined ? added : `${added}#${hash}`;
}
