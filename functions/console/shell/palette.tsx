/** The command palette (⌘K, Ctrl K), the list of keyboard shortcuts (?), and the handling of shortcuts. */
import { signal } from "@preact/signals";
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { type Command, commands, isTyping, pressedKey, shownKey } from "../state/commands.ts";
import { t } from "../texts/t.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";

const open = signal<"palette" | "keys" | undefined>(undefined);

export const openPalette = (): void => {
  open.value = "palette";
};

/** Listens for the keyboard shortcuts of all commands. */
export function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      const key = pressedKey(event);
      const typing = isTyping(event.target);
      if (key === "mod+k") {
        event.preventDefault();
        open.value = open.value === "palette" ? undefined : "palette";
        return;
      }
      // Ignore keys inside dialogs, and plain letters in text inputs.
      if (document.querySelector("dialog[open]") !== null || (typing && !key.startsWith("mod+"))) return;
      if (key === "?") {
        event.preventDefault();
        open.value = "keys";
        return;
      }
      const command = commands.value.findLast((one) => one.key === key);
      if (command === undefined) return;
      event.preventDefault();
      command.run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Returns how well a command matches the typed text; 0 if it does not match. Every word must occur in the command. */
function rank(command: Command, words: readonly string[]): number {
  const title = command.title.toLowerCase();
  const all = `${title} ${command.group.toLowerCase()} ${command.words?.toLowerCase() ?? ""}`;
  if (!words.every((word) => all.includes(word))) return 0;
  const first = words[0] ?? "";
  return title.startsWith(first) ? 3 : title.includes(first) ? 2 : 1;
}

function Palette({ onClose }: { onClose: () => void }) {
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return commands.value
      .map((command) => ({ command, rank: rank(command, words) }))
      .filter((one) => one.rank > 0)
      .sort((a, b) => b.rank - a.rank)
      .slice(0, 50)
      .map(({ command }) => command);
  }, [text, commands.value]);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      const next = (at + step + found.length) % Math.max(1, found.length);
      setAt(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[at]);
    }
  };
  return (
    <Dialog title={t("palette.title")} onClose={onClose} bare>
      <div class="palette">
        <div class="palette-input">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-label={t("palette.label")}
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={found[at] === undefined ? undefined : `${id}-${at}`}
            placeholder={t("palette.placeholder")}
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div id={id} class="palette-list" role="listbox" aria-label={t("palette.title")}>
          {found.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys belong to the input above.
            <div
              key={command.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => run(command)}
              onPointerMove={() => setAt(index)}
            >
              <span class="palette-group">{command.group}</span>
              <span class="palette-title">{command.title}</span>
              {command.key === undefined ? null : <kbd>{shownKey(command.key)}</kbd>}
            </div>
          ))}
        </div>
        {found.length === 0 ? <p class="hint">{t("palette.nothing")}</p> : null}
      </div>
    </Dialog>
  );
}

function Keys({ onClose }: { onClose: () => void }) {
  const keyed = commands.value.filter(({ key }) => key !== undefined);
  const all = [
    { key: "mod+k", title: t("palette.title") },
    { key: "?", title: t("palette.keys") },
    { key: "Escape", title: t("palette.escape") },
    ...keyed,
  ];
  return (
    <Dialog title={t("palette.keys")} onClose={onClose}>
      <dl class="keys">
        {all.map(({ key, title }) => (
          <div key={`${key} ${title}`}>
            <dt>
              <kbd>{shownKey(key ?? "")}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

export function PaletteHost() {
  const close = () => {
    open.value = undefined;
  };
  if (open.value === "palette") return <Palette onClose={close} />;
  if (open.value === "keys") return <Keys onClose={close} />;
  return null;
}
