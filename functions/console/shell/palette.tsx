/** The command palette (⌘K, Ctrl K), the list of keyboard shortcuts (?), and the handling of shortcuts. */
import { signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { Caller } from "../api/caller.ts";
import type { OrbModel } from "../model/orb.ts";
import { type Command, commands, isTyping, pressedKey, shownKey } from "../state/commands.ts";
import { t } from "../texts/t.ts";
import { usePointed } from "../ui/combobox.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import type { Found, Progress } from "./find.ts";

const open = signal<"palette" | "keys" | undefined>(undefined);

export const openPalette = (): void => {
  open.value = "palette";
};

/** Listens for the keyboard shortcuts of all commands. */
export function useKeys(): void {
  useLayoutEffect(() => {
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

/** The search in the content starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 250;
/** Shorter texts would match almost everything. */
const SHORTEST = 2;

export interface SearchPlace {
  caller: Caller;
  /** The application of the current page. */
  orb: OrbModel | undefined;
}

/** Searches the content of the application, and the people whom the caller may see. */
function useContent(text: string, { caller, orb }: SearchPlace): Progress | undefined {
  const [shown, setShown] = useState<{ text: string; progress: Progress }>();
  const wanted = text.trim();
  useEffect(() => {
    const tell = (progress: Progress) => setShown({ text: wanted, progress });
    if (wanted.length < SHORTEST) return undefined;
    const abort = new AbortController();
    const { signal } = abort;
    const timer = setTimeout(
      () =>
        void import("./find.ts").then(
          ({ find }) => find({ caller, orb }, wanted, { signal, tell }),
          () => tell({ found: [], searched: 1, of: 1, failed: 1 }),
        ),
      PAUSE,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted, caller, orb]);
  // Enter must not open what the text before has found.
  return shown?.text === wanted ? shown.progress : undefined;
}

/** Says how far the search is, or that there is nothing. */
function Outcome({ text, progress, count }: { text: string; progress: Progress | undefined; count: number }) {
  const searches = text.trim().length >= SHORTEST;
  const busy = searches && (progress === undefined || progress.searched < progress.of);
  const words = busy
    ? t("palette.searching", { done: progress?.searched ?? 0, of: progress?.of ?? 0 })
    : progress !== undefined && progress.failed > 0
      ? t("palette.failed", { count: progress.failed })
      : count === 0
        ? t("palette.nothing")
        : "";
  return (
    <p class="palette-outcome hint" role="status">
      {words}
    </p>
  );
}

/** A command, or something in the content that the search found. */
interface Choice extends Command {
  snippet?: Found["snippet"];
}

interface OptionProps {
  command: Choice;
  id: string;
  chosen: boolean;
  onChoose: () => void;
  onPoint: () => void;
}

function Snippet({ of }: { of: NonNullable<Found["snippet"]> }) {
  return <>{of.map(({ text, match }, at) => (match === true ? <mark key={at}>{text}</mark> : text))}</>;
}

function Option({ command, id, chosen, onChoose, onPoint }: OptionProps) {
  const { group, title, key, snippet = [] } = command;
  const isTitle = snippet.map(({ text }) => text).join("") === title;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys belong to the input above.
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onClick={onChoose}
      onPointerMove={onPoint}
    >
      <span class="palette-group">{group}</span>
      <span class="palette-title" dir="auto">
        {isTitle ? <Snippet of={snippet} /> : title}
        {isTitle || snippet.length === 0 ? null : (
          <span class="palette-snippet" dir="auto">
            <Snippet of={snippet} />
          </span>
        )}
      </span>
      {key === undefined ? null : <kbd>{shownKey(key)}</kbd>}
    </div>
  );
}

function Palette({ onClose, ...place }: SearchPlace & { onClose: () => void }) {
  const id = useId();
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const progress = useContent(text, place);
  const matching = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return commands.value
      .map((command) => ({ command, rank: rank(command, words) }))
      .filter((one) => one.rank > 0)
      .sort((a, b) => b.rank - a.rank)
      .slice(0, 50)
      .map(({ command }) => command);
  }, [text, commands.value]);
  const found: readonly Choice[] = [
    ...matching,
    ...(progress?.found ?? []).map(({ to, ...one }) => ({ ...one, run: () => go(to) })),
  ];
  const [at, setPointed] = usePointed(found.map((one) => one.id));
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
      setPointed(found[next]?.id);
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
            dir="auto"
            spellcheck={false}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setPointed(undefined);
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div id={id} class="palette-list" role="listbox" aria-label={t("palette.title")}>
          {found.map((command, index) => (
            <Option
              key={command.id}
              {...{ command, id: `${id}-${index}`, chosen: index === at }}
              onChoose={() => run(command)}
              onPoint={() => setPointed(command.id)}
            />
          ))}
        </div>
        <Outcome text={text} progress={progress} count={found.length} />
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

export function PaletteHost(place: SearchPlace) {
  const close = () => {
    open.value = undefined;
  };
  if (open.value === "palette") return <Palette {...place} onClose={close} />;
  if (open.value === "keys") return <Keys onClose={close} />;
  return null;
}
