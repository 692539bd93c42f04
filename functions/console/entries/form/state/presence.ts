/** Who else edits the entry of a form. Asks every few seconds while the page is visible. */
import { useEffect, useState } from "preact/hooks";
import { isProblem } from "../../../../../shared/client/problem.ts";
import { attend, leaveEntry, type Present } from "../../../api/editing.ts";
import type { EntryPlace } from "../../../api/entries.ts";

/** Milliseconds after which the others are told about another field. */
const SOON_MS = 500;
/** Seconds until the next request after one that failed. */
const AGAIN = 10;

class Attendance {
  readonly #place: EntryPlace;
  readonly #id: string;
  readonly #show: (people: readonly Present[]) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  #field: string | null = null;
  #others = 0;
  #ended = false;

  constructor(place: EntryPlace, id: string, show: (people: readonly Present[]) => void) {
    this.#place = place;
    this.#id = id;
    this.#show = show;
  }

  /** Asks now, and then every few seconds. */
  ask(): void {
    clearTimeout(this.#timer);
    if (this.#ended || this.#running !== undefined || document.visibilityState === "hidden") return;
    this.#running = this.#request().finally(() => {
      this.#running = undefined;
    });
  }

  /** @param field name of the field that the user edits */
  enter(field: string | null): void {
    if (field === this.#field) return;
    this.#field = field;
    // If nobody else is there, the next request tells it.
    if (this.#others === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.ask(), SOON_MS);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    const leave = () => leaveEntry(this.#place, this.#id);
    void (this.#running ?? Promise.resolve()).then(leave).catch(() => undefined);
  }

  async #request(): Promise<void> {
    const told = this.#field;
    let wait = AGAIN;
    try {
      const { items, every } = await attend(this.#place, this.#id, told);
      this.#others = items.length;
      if (!this.#ended) this.#show(items);
      // While others are there, their fields are worth a second look.
      wait = items.length === 0 ? every : every / 2;
    } catch (error) {
      this.#others = 0;
      if (!this.#ended) this.#show([]);
      // The rights or the entry are gone, or the session has ended.
      if (isProblem(error) && error.status >= 400 && error.status < 429) return;
    }
    if (this.#ended) return;
    this.#timer = setTimeout(() => this.ask(), told === this.#field ? wait * 1000 : SOON_MS);
  }
}

/**
 * Returns the others who edit the entry.
 * @param id undefined for a new entry, which nobody else can edit
 * @param within selects the element with the form
 */
export function usePresence(place: EntryPlace, id: string | undefined, within: string): readonly Present[] {
  const [people, show] = useState<readonly Present[]>([]);
  useEffect(() => {
    if (id === undefined) return undefined;
    const own = new Attendance(place, id, show);
    const onFocus = ({ target }: FocusEvent) => {
      const field = target instanceof Element ? target.closest<HTMLElement>(`${within} [data-field]`) : null;
      own.enter(field?.dataset.field ?? null);
    };
    const onShow = () => own.ask();
    document.addEventListener("focusin", onFocus);
    document.addEventListener("visibilitychange", onShow);
    own.ask();
    return () => {
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("visibilitychange", onShow);
      own.end();
      show([]);
    };
  }, [id, place.orb, place.change]);
  return people;
}
