/** A text input with options to choose from below it, with the keys of ARIA's pattern "combobox". */
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { InputAttributes } from "./form.tsx";
import { Icon } from "./icon.tsx";

export interface ComboboxOption {
  key: string;
  content: ComponentChildren;
  class?: string;
}

interface Props {
  attributes: InputAttributes;
  text: string;
  onText: (text: string) => void;
  /** Whether the options are shown. */
  open: boolean;
  onOpen: (open: boolean) => void;
  options: readonly ComboboxOption[];
  /** Chooses an option by its index. */
  onChoose: (at: number) => void;
  /** What Enter does if there is no option to choose. Returns whether it did something. */
  onEnter?: () => boolean;
  /** Called when the focus leaves the input and the options. */
  onLeave?: () => void;
  /** Name of the options for screen readers. */
  label: string;
  placeholder: string;
  disabled?: boolean | undefined;
  /** A message below the options. */
  children?: ComponentChildren;
}

/** The options. The input keeps the focus; `at` is the one that Enter chooses. */
function Options({
  id,
  at,
  onPoint,
  props: { options, onChoose, label, children },
}: {
  id: string;
  at: number;
  onPoint: (key: string) => void;
  props: Props;
}) {
  return (
    <div class="reference-found" id={id} role="listbox" aria-label={label}>
      {options.map(({ key, content, class: kind }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys belong to the input above.
        <div
          key={key}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          class={kind}
          aria-selected={index === at}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(index)}
          onPointerMove={() => onPoint(key)}
        >
          {content}
        </div>
      ))}
      {children}
    </div>
  );
}

/**
 * Remembers the option that the user points at by its key, because options can come and go meanwhile.
 * @returns its index, which is that of the first option if there is none; and a function that points at another one
 */
export function usePointed(keys: readonly string[]): [at: number, point: (key: string | undefined) => void] {
  const [pointed, point] = useState<string>();
  return [Math.max(0, keys.indexOf(pointed ?? "")), point];
}

export function Combobox(props: Props) {
  const { attributes, text, onText, open, onOpen, options, onChoose, onEnter, onLeave } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [at, setPointed] = usePointed(options.map(({ key }) => key));
  const isShown = open && (options.length > 0 || Boolean(props.children));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && !event.altKey) {
      onOpen(true);
      setPointed(options.at((at + step) % Math.max(1, options.length))?.key);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      if (open && options.length > 0) onChoose(at);
      else if (onEnter?.() !== true) return;
    } else if (event.key === "Escape" && open) {
      event.stopPropagation();
      onOpen(false);
    } else return;
    event.preventDefault();
  };
  return (
    <div
      class="reference-search"
      ref={box}
      onFocusOut={(event) => {
        if (box.current?.contains(event.relatedTarget as Node | null)) return;
        onOpen(false);
        onLeave?.();
      }}
    >
      <Icon name="search" />
      <input
        {...attributes}
        type="text"
        role="combobox"
        dir="auto"
        aria-expanded={isShown}
        aria-controls={isShown ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={isShown && options.length > 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        disabled={props.disabled}
        placeholder={props.placeholder}
        value={text}
        onFocus={() => onOpen(true)}
        onClick={() => onOpen(true)}
        onInput={(event) => {
          onText(event.currentTarget.value);
          onOpen(true);
          setPointed(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      {isShown ? <Options id={id} at={at} onPoint={setPointed} props={props} /> : null}
    </div>
  );
}
