import type { ComponentChildren } from "preact";
import { useDropdown } from "./dropdown.ts";

const INPUT = ":is(input, select, textarea, button):not(:disabled)";

/** A button that opens a panel with inputs. Escape or a click outside closes the panel. */
export function Popover({
  label,
  named,
  button,
  class: name = "button",
  align = "start",
  disabled,
  children,
}: {
  /** The name of the panel for screen readers. Also the button's name, if the button has no text. */
  label: string;
  named?: boolean;
  button: ComponentChildren;
  class?: string;
  align?: "start" | "end";
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}) {
  const { id, open, toggle, close, root, panel } = useDropdown(INPUT);
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
        disabled={disabled}
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={toggle}
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
