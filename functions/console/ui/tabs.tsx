import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { sideStep } from "../state/arrows.ts";

/** Tabs. Only the content of the selected tab is visible. Arrow keys move between the tabs. */
export function Tabs<T extends string>({
  label,
  tabs,
  current,
  onChange,
  children,
}: {
  label: string;
  tabs: readonly { id: T; label: string }[];
  current: T;
  onChange: (id: T) => void;
  children: ComponentChildren;
}) {
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const step = sideStep(event.key);
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = tabs.at((at + step + tabs.length) % tabs.length);
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onChange(next.id);
    document.getElementById(`${id}-${next.id}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </>
  );
}
