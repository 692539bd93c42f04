/** Saved views of lists as the platform keeps them, from and to the view in the address. */
import type { ViewList } from "../../../api/views.ts";
import type { FilterOp } from "../../../fields/parts/kind.ts";
import { isAny, NEWEST, readView, type View, writeView } from "./view.ts";

const LAYOUTS = ["cards", "board", "calendar", "map"] as const;

/** Returns a layout of the address, such as `board:stage`, as the platform keeps it. */
function layoutOf(text: string | undefined): Pick<ViewList, "layout"> {
  const [name = "", field] = text?.split(":") ?? [];
  const kind = LAYOUTS.find((one) => one === name);
  return kind === undefined ? {} : { layout: { kind, ...(field === undefined ? {} : { field }) } };
}

/** Returns what the platform keeps of a view. */
export function listOf(view: View): ViewList {
  const { filters, search, missing, status, sort, locale, market, layout, columns } = view;
  const plain = Object.entries({ search, missing, status, locale, market, columns });
  return {
    filters: filters.map(({ name, op, value }) => ({ field: name, op, value })),
    ...(isAny(view) ? { any: true } : {}),
    ...(view.unused ? { used: false } : {}),
    ...Object.fromEntries(plain.filter(([, value]) => value !== undefined)),
    ...(sort === NEWEST ? {} : { sort: [sort] }),
    ...layoutOf(layout),
  };
}

/** Returns the query of the address with which a saved view opens. */
export function queryOf({
  filters = [],
  any = false,
  used,
  sort,
  layout,
  columns,
  ...plain
}: ViewList): string {
  const view: View = {
    ...readView(new URLSearchParams(plain as Record<string, string>)),
    filters: filters.map(({ field, op, value }) => ({ name: field, op: op as FilterOp, value })),
    any,
    unused: used === false,
    sort: sort?.join(",") ?? NEWEST,
    layout: layout && (layout.field === undefined ? layout.kind : `${layout.kind}:${layout.field}`),
    columns,
  };
  return writeView(view);
}
