import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../texts/t.ts";

export interface Crumb {
  label: string;
  /** Path below /console. */
  to: string;
}

/** The breadcrumb of the current page, for the header. */
export const crumbs = signal<readonly Crumb[]>([]);

/** Path of the page whose heading was focused last. The first page leaves the focus to the browser. */
let focused = location.pathname;

/** Moves the focus to the heading of a new page, so that screen readers and keyboards begin there. */
function focusHeading(): void {
  if (focused === location.pathname) return;
  focused = location.pathname;
  document.getElementById("page-title")?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** A page: its heading, its actions and its content. It names the browser's tab too. */
export function Page({
  title,
  path = [],
  lead,
  actions,
  wide,
  children,
}: {
  title: string;
  /** The pages above this one, from the outermost. */
  path?: readonly Crumb[];
  /** A line below the heading. */
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  /** Uses the whole width, for tables and editors. */
  wide?: boolean;
  children: ComponentChildren;
}) {
  const way = JSON.stringify(path);
  useEffect(() => {
    crumbs.value = [...(JSON.parse(way) as Crumb[]), { label: title, to: "" }];
    const above = (JSON.parse(way) as Crumb[]).map(({ label }) => label).reverse();
    document.title = [title, ...above, t("app.name")].join(" · ");
    focusHeading();
  }, [title, way]);
  return (
    <div class={`page ${wide === true ? "wide" : ""}`}>
      <div class="page-head">
        <div>
          <h1 id="page-title" tabIndex={-1}>
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
