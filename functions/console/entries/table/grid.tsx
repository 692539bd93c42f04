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
  useLayoutEffect(() => {
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

/** The part of the table that is visible: its scroll position and its height in pixels. */
interface Viewport {
  top: number;
  size: number;
}

/** Returns the rows to render, from `from` to before `until`, and the visible rows. */
function windowOf({ top, size }: Viewport, height: number, rows: Rows) {
  const all = rows.ended || rows.stopped || rows.error !== undefined;
  /** Number of rows with placeholders for those that load. */
  const shown = rows.known + (all ? 0 : WAITING);
  const from = Math.max(0, Math.floor((Math.floor(top / height) - AROUND) / STEP) * STEP);
  const until = Math.min(shown, from + Math.ceil(size / height) + 2 * AROUND + STEP);
  const visible = { first: Math.floor(top / height), end: Math.ceil((top + size) / height) };
  return { shown, from, until, visible };
}

/** Follows scrolling and resizing of the table. @param start initial scroll position in pixels */
function useViewport(box: RefObject<HTMLDivElement>, rows: Rows, height: number, start: number) {
  const [place, setPlace] = useState<Viewport>({ top: start, size: 800 });
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
  return [place, setPlace] as const;
}

/** The current row, which has the focus while the user moves through the table with the keyboard. */
function useCurrentRow(
  box: RefObject<HTMLDivElement>,
  { known, height, setPlace }: { known: number; height: number; setPlace: (place: Viewport) => void },
) {
  const [active, setActive] = useState(0);
  const focusing = useRef(false);
  useLayoutEffect(() => {
    if (!focusing.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (row === null || row === undefined) return;
    focusing.current = false;
    row.focus({ preventScroll: true });
  });
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
  /** Moves the focus by a number of rows, and returns the row that has it then. */
  const step = (by: number): number => {
    // If no row has the focus, the first key press focuses the current row instead of moving to another.
    const focused = box.current?.contains(document.activeElement) === true;
    const next = focused ? active + by : active;
    goTo(next);
    return Math.max(0, Math.min(next, known - 1));
  };
  return { active, setActive, step };
}

/** Returns by how many rows a key moves; undefined for other keys. @param page number of rows of a page */
function movesOf(key: string, { active, known, page }: { active: number; known: number; page: number }) {
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
  return moves[key];
}

/** The headings of the columns. Those of sortable columns are buttons. */
function headings(columns: readonly FieldModel[], sort: string, onSort: (name: string) => void) {
  return columns.map((field) => {
    const sortable = isSortable(field);
    const down = sort === `-${field.name}`;
    const sorted = down || sort === field.name;
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
  });
}

/** The heading of the check boxes, which selects all rows. */
function SelectAll({ selected, known, onChange }: { selected: number; known: number; onChange: () => void }) {
  return (
    <th scope="col" role="columnheader" class="c-check">
      <input
        type="checkbox"
        aria-label={t("table.selectAll")}
        checked={selected > 0}
        indeterminate={selected > 0 && selected < known}
        onChange={onChange}
      />
      <span class="narrow-only" aria-hidden="true">
        {t("table.sortBy")}
      </span>
    </th>
  );
}

export interface GridProps {
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
}

/** Moves through the rows with the keyboard, and acts on the current one. */
function useGridKeys(
  { rows, selected, handle, onToggle, onSelectTo, onSelectNone, onOpen }: GridProps,
  box: RefObject<HTMLDivElement>,
  { active, step, page }: { active: number; step: (by: number) => number; page: number },
): (event: KeyboardEvent) => void {
  const move = (by: number, extend = false) => {
    const next = step(by);
    if (extend) onSelectTo(next);
  };
  useImperativeHandle(handle, () => ({
    step: move,
    toggle: () => onToggle(active),
    top: () => box.current?.scrollTo({ top: 0 }),
  }));
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    const onRow = target?.getAttribute("role") === "row";
    const by = movesOf(event.key, { active, known: rows.known, page });
    const id = rows.at(active)?.id;
    if (by !== undefined) move(by, event.shiftKey);
    else if (event.key === "x" || (event.key === " " && onRow)) onToggle(active);
    else if (event.key === "Escape" && selected.size > 0) onSelectNone();
    else if (event.key === "Enter" && onRow && id !== undefined) onOpen(id);
    else return;
    event.preventDefault();
  };
}

export function Grid(props: GridProps) {
  const { label, rows, columns, orb, view, selected, total, start, linkOf, onRange, onSort } = props;
  const { onToggle, onSelectTo, onSelectAll, onOpen } = props;
  const height = useRowHeight();
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useViewport(box, rows, height, start);
  const { known } = rows;
  const { shown, from, until, visible } = windowOf(place, height, rows);
  const { active, setActive, step } = useCurrentRow(box, { known, height, setPlace });
  const page = Math.max(1, Math.floor(place.size / height) - 2);
  const onKeyDown = useGridKeys(props, box, { active, step, page });
  useEffect(() => {
    rows.ensure(from, until);
    onRange({ first: visible.first, end: Math.min(visible.end, known) }, place.top);
  }, [rows, rows.version.value, from, until, place.top]);
  const head = useMemo(() => headings(columns, view.sort, onSort), [columns, view.sort, onSort]);
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
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table inside has the roles, and its rows have the focus.
    <div class="grid-box" ref={box} onKeyDown={onKeyDown}>
      <table role="grid" aria-label={label} aria-rowcount={rows.ended ? known : (total ?? -1)} class="grid">
        <thead>
          <tr role="row">
            <SelectAll selected={selected.size} known={known} onChange={onSelectAll} />
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
