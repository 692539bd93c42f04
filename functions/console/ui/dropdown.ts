import type { RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Dropdown {
  /** Id of the list or panel that the button opens. */
  id: string;
  open: boolean;
  toggle: () => void;
  /** Closes the list or panel, and returns the focus to the button. */
  close: () => void;
  /** The element with the button and the panel. */
  root: RefObject<HTMLDivElement>;
  panel: RefObject<HTMLDivElement>;
}

/**
 * The state of a button that opens a list or a panel. The list or panel closes if the user clicks or moves the focus
 * outside of it.
 * @param first CSS selector; the first matching element gets the focus on opening
 */
export function useDropdown(first: string): Dropdown {
  const id = useId();
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  // At once: an effect after the next frame would take the focus from what the user has reached meanwhile.
  useLayoutEffect(() => {
    if (!open) return undefined;
    panel.current?.querySelector<HTMLElement>(first)?.focus();
    const leave = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open, first]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  return { id, open, toggle: () => setOpen(!open), close, root, panel };
}
