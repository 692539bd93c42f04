import type { ComponentChildren } from "preact";
import { useDropdown } from "./dropdown.ts";
import { Icon, type IconName } from "./icon.tsx";

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  disabled?: boolean;
  /** Whether to show a check mark, for an action that selects one of several options. */
  checked?: boolean;
  /** The language of the label, if it is not that of the console. */
  language?: string;
  run: () => void;
}

const ITEM = "[role^=menuitem]:not([disabled])";

/** A button that opens a list of actions. Arrow keys move between the actions, and Escape closes the list. */
export function Menu({
  label,
  button,
  items,
  class: name = "button quiet",
}: {
  /** The name of the button for screen readers, if `button` has no text. */
  label?: string;
  button: ComponentChildren;
  items: readonly MenuItem[];
  class?: string;
}) {
  const { id, open, toggle, close, root, panel } = useDropdown(ITEM);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const all = [...(panel.current?.querySelectorAll<HTMLElement>(ITEM) ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all.at((at + step + all.length) % all.length)?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the menu inside has the role.
    <div class="menu" ref={root} onKeyDown={open ? onKeyDown : undefined}>
      <button
        type="button"
        class={name}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={toggle}
      >
        {button}
      </button>
      {open ? (
        <div class="menu-list" role="menu" id={id} ref={panel}>
          {items.map(({ label: text, icon, danger, disabled, checked, language, run }) => (
            <button
              key={text}
              type="button"
              {...(checked === undefined
                ? { role: "menuitem" }
                : { role: "menuitemradio", "aria-checked": checked })}
              class={danger === true ? "danger" : ""}
              disabled={disabled}
              onClick={() => {
                close();
                run();
              }}
            >
              {icon === undefined ? null : <Icon name={icon} />}
              <span lang={language}>{text}</span>
              {checked === true ? <Icon name="check" /> : null}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
