/**
 * `composable-platform/preview`: lets a page of a site show the draft of an entry, beside the form in the console. It does
 * nothing for visitors, who have no preview link.
 */
import { followConsole } from "./follow.ts";
import { PreviewLink, type PreviewOptions } from "./link.ts";
import type { PreviewEntry } from "./messages.ts";

export type { PreviewOptions } from "./link.ts";
export type { PreviewEntry } from "./messages.ts";

class PagePreview extends PreviewLink {
  /**
   * Shows in the browser what the user types in the console, and opens the field in the form when the user clicks on one
   * of its elements. Does nothing for visitors, on a server, and outside of the console.
   * @param update shows an entry. By default, texts and rich text of elements are replaced where they show the value as it
   *   is, and marked elements are loaded again after a save
   * @returns a function that ends this
   */
  follow(update?: (entry: PreviewEntry) => void): () => void {
    return this.active ? followConsole(this.platform, update) : () => undefined;
  }
}

export type Preview = PagePreview;

/** Returns what a page does with the preview link by which it was opened, if it was. */
export function preview(options: PreviewOptions): Preview {
  return new PagePreview(options);
}
