/**
 * Commands of the command palette, and their keyboard shortcuts. A page registers its own commands while it is shown.
 */
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface Command {
  id: string;
  /** Label in the palette. */
  title: string;
  /** Heading in the palette. */
  group: string;
  /** Additional search terms. */
  words?: string;
  /** Keyboard shortcut, such as `n` or `mod+s` (⌘ on a Mac, Ctrl elsewhere). */
  key?: string;
  run: () => void;
}

/** All available commands. If several commands have the same shortcut, the latest registration wins. */
export const commands = signal<readonly Command[]>([]);

/**
 * Registers commands while the component is shown. Pass `null` to register none.
 * @param on values that the commands depend on; a change registers the commands again
 */
export function useCommands(make: () => readonly Command[], on: readonly unknown[]): void {
  // At once: a page that is visible takes its shortcuts.
  useLayoutEffect(() => {
    const own = make();
    commands.value = [...commands.peek(), ...own];
    return () => {
      commands.value = commands.peek().filter((command) => !own.includes(command));
    };
  }, on as unknown[]);
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Returns a shortcut with the labels of the user's keyboard: `⌘S` or `Ctrl S`. */
export const shownKey = (key: string): string =>
  key
    .split("+")
    .map((part) => (part === "mod" ? (isMac ? "⌘" : "Ctrl") : part.length === 1 ? part.toUpperCase() : part))
    .join(isMac ? "" : " ");

/** Returns the name of a pressed key, in the form of {@link Command.key}. */
export function pressedKey(event: KeyboardEvent): string {
  const mod = isMac ? event.metaKey : event.ctrlKey;
  return `${mod ? "mod+" : ""}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
}

/** Returns whether the user is typing text. If so, letters without a modifier key run no command. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button|submit|range)$/.test(target.type);
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
