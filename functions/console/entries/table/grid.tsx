// biome-ignore-all lint/a11y/noInteractiveElementToNoninteractiveRole: a spacer is not a row of data.
// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of rows that a phone shows as cards.
// biome-ignore-all lint/a11y/noNoninteractiveElementToInteractiveRole: a table whose rows can be focused is a grid (ARIA practices).
// biome-ignore-all lint/a11y/useFocusableInteractive: a table whose rows can be focused is a grid (ARIA practices).
/** The table of entries. It is virtualized: the DOM contains only the visible rows and a few around them. */
import type { RefObject } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type FieldModel, labelOf, type OrbModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Icon } from "../../ui/icon.tsx";
import type { Rows } from "./data/rows.ts";
import { isSortable, type View } from "./data/view.ts";
import { GridRow, widthOf } from "./row.tsx";

/**
 * Heights in pixels of a row, and of the card that replaces it on a phone. `styles/entries.css` must have the same
 * heights.
 */
const LINE = 44;
const CARD = 76;
/** Number of extra rows to render above and below the visible ones. */
const AROUND = 10;
/** The rendered range moves in steps of this many rows, so that most scroll events render nothing. */
const STEP = 5;
/** Number of placeholder rows while entries load. */
const WAITING = 8;

const phone = matchMedia("(max-width: 800px)");

/** Returns the height of a row on the current screen. */
function useRowHeight(): number {
  const [narrow, setNarrow] = useState(phone.matches);
  useEffect(() => {
    const follow = () => setNarrow(phone.matches);
    phone.addEventListener("change", follow);
    return () => phone.removeEventListener("change", follow);
  }, []);
  return narrow ? CARD : LINE;
}

export interface GridHandle {
  /** Moves the focus to the next or the previous row. */
  step: (by: number, extend?: boolean) => void;
  /** Toggles the selection of the current row. */
  toggle: () => void;
  top: () => void;
}

export interface Range {
  first: number;
  end: number;
}

export function Grid({
  label,
  rows,
  columns,
  orb,
  view,
  selected,
  total,
  start,
  handle,
  linkOf,
  onRange,
  onSort,
  onToggle,
  onSelectTo,
  onSelectAll,
  onSelectNone,
  onOpen,
}: {
  label: string;
  rows: Rows;
  columns: readonly FieldModel[];
  orb: OrbModel;
  view: View;
  selected: ReadonlyMap<string, unknown>;
  total: number | undefined;
  /** Initial scroll position in pixels. */
  start: number;
  handle: RefObject<GridHandle>;
  linkOf: (id: string) => string;
  /** Called with the visible rows. */
  onRange: (range: Range, top: number) => void;
  onSort: (name: string) => void;
  onToggle: (index: number) => void;
  /** Selects all rows between the last selected row and this row. */
  onSelectTo: (index: number) => void;
  onSelectAll: () => void;
  onSelectNone: () => void;
  onOpen: (id: string) => void;
}) {
  const height = useRowHeight();
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: start, size: 800 });
  const [active, setActive] = useState(0);
  const focusing = useRef(false);
  const known = rows.known;
  const shown = known + (rows.ended || rows.stopped || rows.error !== undefined ? 0 : WAITING);
  const from = Math.max(0, Math.floor((Math.floor(place.top / height) - AROUND) / STEP) * STEP);
  const until = Math.min(shown, from + Math.ceil(place.size / height) + 2 * AROUND + STEP);
  const visible = {
    first: Math.floor(place.top / height),
    end: Math.ceil((place.top + place.size) / height),
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    element.scrollTop = start;
    const measure = () => {
      const next = { top: element.scrollTop, size: element.clientHeight };
      setPlace((old) =>
        Math.floor(old.top / height / STEP) === Math.floor(next.top / height / STEP) && old.size === next.size
          ? old
          : next,
      );
    };
    measure();
    let waiting = 0;
    const follow = () => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(measure);
    };
    element.addEventListener("scroll", follow, { passive: true });
    const resized = new ResizeObserver(follow);
    resized.observe(element);
    return () => {
      cancelAnimationFrame(waiting);
      element.removeEventListener("scroll", follow);
      resized.disconnect();
    };
  }, [rows, height]);

  useEffect(() => {
    rows.ensure(from, until);
    onRange({ first: visible.first, end: Math.min(visible.end, known) }, place.top);
  }, [rows, rows.version.value, from, until, place.top]);

  /** Scrolls a row into view below the sticky header, and focuses it once it is rendered. */
  const goTo = (index: number) => {
    const next = Math.max(0, Math.min(index, known - 1));
    const element = box.current;
    if (element === null || known === 0) return;
    const room = element.clientHeight - (element.querySelector("thead")?.offsetHeight ?? 0);
    if (next * height < element.scrollTop) element.scrollTop = next * height;
    else if ((next + 1) * height > element.scrollTop + room) element.scrollTop = (next + 1) * height - room;
    focusing.current = true;
    setActive(next);
    setPlace({ top: element.scrollTop, size: element.clientHeight });
  };
  useLayoutEffect(() => {
    if (!focusing.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (row === null || row === undefined) return;
    focusing.current = false;
    row.focus({ preventScroll: true });
  });

  const focused = () => box.current?.contains(document.activeElement) === true;
  const step = (by: number, extend = false) => {
    // If no row has the focus, the first key press focuses the current row instead of moving to another.
    const next = focused() ? active + by : active;
    goTo(next);
    if (extend) onSelectTo(Math.max(0, Math.min(next, known - 1)));
  };
  useImperativeHandle(handle, () => ({
    step,
    toggle: () => onToggle(active),
    top: () => box.current?.scrollTo({ top: 0 }),
  }));

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    const onRow = target?.getAttribute("role") === "row";
    const page = Math.max(1, Math.floor(place.size / height) - 2);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      j: 1,
      J: 1,
      ArrowUp: -1,
      k: -1,
      K: -1,
      PageDown: page,
      PageUp: -page,
      Home: -active,
      End: known - 1 - active,
    };
    const by = moves[event.key];
    const id = rows.at(active)?.id;
    if (by !== undefined) step(by, event.shiftKey);
    else if (event.key === "x" || (event.key === " " && onRow)) onToggle(active);
    else if (event.key === "Escape" && selected.size > 0) onSelectNone();
    else if (event.key === "Enter" && onRow && id !== undefined) onOpen(id);
    else return;
    event.preventDefault();
  };

  const head = useMemo(
    () =>
      columns.map((field) => {
        const sortable = isSortable(field);
        const down = view.sort === `-${field.name}`;
        const sorted = down || view.sort === field.name;
        return (
          <th
            key={field.name}
            scope="col"
            role="columnheader"
            class={`${widthOf(field)} ${sortable ? "sortable" : ""}`}
            aria-sort={sorted ? (down ? "descending" : "ascending") : undefined}
          >
            {sortable ? (
              <button type="button" class="sort" onClick={() => onSort(field.name)}>
                {labelOf(field)}
                {sorted ? <Icon name={down ? "arrowDown" : "arrowUp"} size={13} /> : null}
              </button>
            ) : (
              labelOf(field)
            )}
          </th>
        );
      }),
    [columns, view.sort, onSort],
  );

  const body = [];
  for (let index = from; index < until; index++) {
    const item = rows.at(index);
    body.push(
      <GridRow
        key={index}
        {...{ index, item, columns, orb, linkOf, onToggle, onSelectTo, onOpen }}
        locale={view.locale}
        market={view.market}
        selected={item !== undefined && selected.has(item.id)}
        current={index === active}
        onCurrent={setActive}
      />,
    );
  }
  const some = selected.size > 0;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table inside has the roles, and its rows have the focus.
    <div class="grid-box" ref={box} onKeyDown={onKeyDown}>
      <table role="grid" aria-label={label} aria-rowcount={rows.ended ? known : (total ?? -1)} class="grid">
        <thead>
          <tr role="row">
            <th scope="col" role="columnheader" class="c-check">
              <input
                type="checkbox"
                aria-label={t("table.selectAll")}
                checked={some}
                indeterminate={some && selected.size < known}
                onChange={onSelectAll}
              />
              <span class="narrow-only" aria-hidden="true">
                {t("table.sortBy")}
              </span>
            </th>
            {head}
          </tr>
        </thead>
        <tbody>
          <Space size={from * height} />
          {body}
          <Space size={(shown - until) * height} />
        </tbody>
      </table>
    </div>
  );
}

/** A spacer with the height of the rows that are not rendered. */
function Space({ size }: { size: number }) {
  const row = useRef<HTMLTableRowElement>(null);
  useLayoutEffect(() => {
    // The Content-Security-Policy forbids style attributes in HTML, but allows styles set by script.
    if (row.current !== null) row.current.style.height = `${Math.max(0, size)}px`;
  }, [size]);
  return <tr ref={row} role="presentation" class="space" />;
}
