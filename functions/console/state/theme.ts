/**
 * Light or dark colors. The script `theme.ts` next to `main.tsx` applies the stored choice before the first paint.
 */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const NAME = "console.theme";

export const theme = signal<Theme>((document.documentElement.dataset.theme as Theme | undefined) ?? "system");

export function setTheme(choice: Theme): void {
  theme.value = choice;
  const { dataset } = document.documentElement;
  if (choice === "system") delete dataset.theme;
  else dataset.theme = choice;
  try {
    if (choice === "system") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, choice);
  } catch {
    // Storage is blocked. The choice lasts until the page is closed.
  }
}
