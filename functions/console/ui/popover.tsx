import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/** A button that opens a panel with inputs. Escape and a press beside it close it, and the focus returns. */
export function Popover({
  label,
  named,
  button,
  class: name = "button",
  align = "start",
  children,
}: {
  /** The name of the panel, and of the button unless it is named by its text. */
  label: string;
  named?: boolean;
  button: ComponentChildren;
  class?: string;
  align?: "start" | "end";
  children: (close: () => void) => ComponentChildren;
}) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const inputs = ":is(input, select, textarea, button):not(:disabled)";
    panel.current?.querySelector<HTMLElement>(inputs)?.focus();
    const leave = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button and the panel inside have the roles.
    <div
      class="popover"
      ref={root}
      onKeyDown={(event) => {
        if (!open || event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        class={name}
        aria-label={named === true ? undefined : label}
        title={label}
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open ? (
        <div class={`popover-panel ${align}`} role="dialog" aria-label={label} id={id} ref={panel}>
          {children(close)}
        </div>
      ) : null}
    </div>
  );
}
