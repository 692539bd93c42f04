import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { t } from "../texts/t.ts";

export interface Crumb {
  label: string;
  /** Path below /console. */
  to: string;
}

/** The breadcrumbs of the current page. The page header shows them. */
export const crumbs = signal<readonly Crumb[]>([]);

/**
 * Path of the page whose heading was last focused. Starts with the first page, where the browser itself sets the focus.
 */
const FIRST = location.pathname;
let focused = FIRST;

/**
 * Moves the focus to the heading of a new page, so that screen readers and keyboard navigation start there. A page that
 * replaces its own heading when its data arrives gets the focus again.
 */
function focusHeading(): void {
  const isNew = focused !== location.pathname;
  if (!isNew && (focused === FIRST || document.activeElement !== document.body)) return;
  focused = location.pathname;
  document.getElementById("page-title")?.focus({ preventScroll: true });
  if (isNew) scrollTo(0, 0);
}

/** A page: its heading, its actions and its content. Also sets the title of the browser tab. */
export function Page({
  title,
  language,
  path = [],
  lead,
  actions,
  wide,
  children,
}: {
  title: string;
  /** The language of the title, if it is content in another language than the console. */
  language?: string | undefined;
  /** The parent pages of this page, beginning with the topmost. */
  path?: readonly Crumb[];
  /** Introduction below the heading. */
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  /** Whether the page uses the whole width, for tables and editors. */
  wide?: boolean;
  children: ComponentChildren;
}) {
  const way = JSON.stringify(path);
  // At once: after the next frame, it could take the focus from what the user has reached on the new page.
  useLayoutEffect(() => {
    crumbs.value = [...(JSON.parse(way) as Crumb[]), { label: title, to: "" }];
    const above = (JSON.parse(way) as Crumb[]).map(({ label }) => label).reverse();
    document.title = [title, ...above, t("app.name")].join(" · ");
    focusHeading();
  }, [title, way]);
  return (
    <div class={`page ${wide === true ? "wide" : ""}`}>
      <div class="page-head">
        <div>
          <h1 id="page-title" tabIndex={-1} dir="auto" lang={language}>
            {title}
          </h1>
          {lead === undefined ? null : <div class="lead">{lead}</div>}
        </div>
        {actions === undefined ? null : <div class="page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
