/** The list of a schema's entries: toolbar, table, selection, and actions on the selected entries. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import { type EntryPlace, listEntries } from "../../api/entries.ts";
import { sessionEnded } from "../../api/http.ts";
import type { FieldModel, OrbModel, SchemaModel } from "../../model/orb.ts";
import { codeLink } from "../../shell/nav.ts";
import { useCommands } from "../../state/commands.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { complain } from "../../ui/toast.tsx";
import type { Rights } from "./bulk/bulk.ts";
import { BulkDialog, type BulkTask } from "./bulk/bulk-dialog.tsx";
import { readAll } from "./bulk/export.ts";
import { ExportDialog } from "./bulk/export-dialog.tsx";
import { columnsOf } from "./columns.tsx";
import { isServed, MOST, NO_NEWS, useFollow } from "./data/follow.ts";
import { useChanges } from "./data/fresh.ts";
import { nameOf } from "./data/names.ts";
import type { Row } from "./data/rows.ts";
import { readColumns, writeColumns } from "./data/stored.ts";
import { listQuery, useRows } from "./data/use-rows.ts";
import {
  defaultColumns,
  isNewestFirst,
  NEWEST,
  readView,
  runtimeConditionsOf,
  shownValue,
  storedValue,
  type View,
  writeView,
} from "./data/view.ts";
import { Changes, Foot } from "./foot.tsx";
import { Grid, type GridHandle, type Range } from "./grid.tsx";
import { Toolbar } from "./toolbar.tsx";
import { Nothing, Trouble } from "./trouble.tsx";

type Selection = ReadonlyMap<string, Row>;
const NONE: Selection = new Map();

export function List({
  place,
  schema,
  orb,
  rights,
  base,
  version,
}: {
  /** Incremented when entries were imported, so that the list loads again. */
  version: number;
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  rights: Rights;
  /** Path of this page. */
  base: string;
}) {
  const table = `${place.orb}/${place.module}/${place.schema}`;
  const search = useSearch();
  const [, go] = useLocation();
  const view = useMemo(() => readView(new URLSearchParams(search)), [search]);
  const query = writeView(view);
  const [remembered, setRemembered] = useState(() => readColumns(table));
  const names = view.columns ?? remembered ?? defaultColumns(schema);
  const columns = useMemo(() => columnsOf(schema, names), [schema, names.join()]);
  const list = useRows({ place, schema, orb, view, columns, drafts: rights.drafts });
  const { rows } = list;
  // Reading this signal makes the component render again when the rows change.
  rows.version.value;
  const [selected, setSelected] = useState<Selection>(NONE);
  const [range, setRange] = useState<Range>({ first: 0, end: 0 });
  const shown = useRef(range);
  const anchor = useRef(0);
  const grid = useRef<GridHandle>(null);
  const [task, setTask] = useState<BulkTask>();
  const [exporting, setExporting] = useState(false);
  const [collecting, setCollecting] = useState<AbortController>();
  const conditions = listQuery({ view, drafts: rights.drafts });
  const total = useTotal(place, conditions);
  const possible = isServed(orb, place) && total.data !== undefined && total.data <= MOST;
  const { following, news, begin } = useFollow(
    list,
    { place, view, drafts: rights.drafts },
    { possible, paused: selected.size > 0 },
  );
  const [changes, clearChanges] = useChanges(rows, () => shown.current, !following);

  const open = (next: string, replace = false) => go(next === "" ? base : `${base}?${next}`, { replace });
  const change = (part: Partial<View>, replace = false) => {
    // If the filters change, clear the selection. Otherwise it could contain entries that the list does not show.
    if (part.filters !== undefined || "status" in part || "search" in part) setSelected(NONE);
    open(writeView({ ...view, ...part }), replace);
  };
  const linkOf = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const name = (item: Row) => nameOf(item, schema, orb, view);
  const refresh = () => {
    clearChanges();
    begin();
    if (news.added > 0 && isNewestFirst(view)) grid.current?.top();
    rows.refresh();
    void total.reload();
  };

  useEffect(() => {
    if (version > 0) refresh();
  }, [version]);

  // Retry a failed read after the user has signed in again.
  const ended = sessionEnded.value;
  useEffect(() => {
    if (!ended && rows.error !== undefined) rows.retry();
  }, [ended]);

  const select = (items: readonly Row[]) => {
    setSelected((old) => new Map([...old, ...items.map((item): [string, Row] => [item.id, item])]));
  };
  const toggle = (index: number) => {
    const item = rows.at(index);
    if (item === undefined) return;
    anchor.current = index;
    setSelected((old) => {
      const next = new Map(old);
      if (!next.delete(item.id)) next.set(item.id, item);
      return next;
    });
  };
  const selectTo = (index: number) => {
    const [first, last] = [Math.min(anchor.current, index), Math.max(anchor.current, index)];
    rows.range(first, last + 1, new AbortController().signal).then(select, complain);
  };
  const selectKnown = () => {
    if (selected.size > 0) setSelected(NONE);
    else rows.range(0, rows.known, new AbortController().signal).then(select, complain);
  };
  const selectAll = async () => {
    const abort = new AbortController();
    setCollecting(abort);
    // Request only names and states, because the selection can contain very many entries.
    const short = new URLSearchParams(conditions);
    short.set(
      "fields",
      columns[0] !== undefined && schema.fields.includes(columns[0]) ? columns[0].name : "id",
    );
    try {
      for await (const items of readAll(place, short, abort.signal)) select(items);
    } catch (error) {
      if (!abort.signal.aborted) complain(error);
    }
    setCollecting(undefined);
  };

  const sort = (column: string) => {
    const next = view.sort === column ? `-${column}` : view.sort === `-${column}` ? NEWEST : column;
    change({ sort: next });
  };

  const code = codeLink(place, { operation: "list", query: String(runtimeConditionsOf(view)) });
  useCommands(
    () =>
      [
        { id: "table.code", title: t("table.codeOfList"), run: () => go(code) },
        { id: "table.next", title: t("table.nextRow"), key: "j", run: () => grid.current?.step(1) },
        { id: "table.previous", title: t("table.previousRow"), key: "k", run: () => grid.current?.step(-1) },
        { id: "table.select", title: t("table.selectRow"), key: "x", run: () => grid.current?.toggle() },
        {
          id: "table.find",
          title: t("table.findEntries"),
          key: "/",
          run: () => document.getElementById("table-search")?.focus(),
        },
        { id: "table.refresh", title: t("table.refresh"), key: "r", run: refresh },
      ].map((command) => ({ ...command, group: t("table.group") })),
    [rows, code],
  );

  const knownValues = (field: FieldModel) => {
    const found = new Set<string>();
    for (let index = 0; index < Math.min(rows.known, 300) && found.size < 50; index++) {
      const item = rows.at(index);
      const value = item === undefined ? null : shownValue(field, storedValue(item, field), orb, view).value;
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one === "string" && one.length < 100) found.add(one);
      }
    }
    return [...found].sort();
  };

  const filtered = view.filters.length > 0 || view.search !== undefined || view.status !== undefined;
  const empty = rows.known === 0 && rows.ended;
  return (
    <div class="entries">
      {empty && !filtered ? null : (
        <Toolbar
          {...{ table, query, view, change, columns: names, managed: place.managed }}
          context={{ schema, orb, managed: place.managed, knownValues }}
          onOpen={open}
          onColumns={(next) => {
            setRemembered(next);
            writeColumns(table, next ?? defaultColumns(schema));
            change({ columns: next }, true);
          }}
          onExport={() => setExporting(true)}
          code={code}
        />
      )}
      {rows.error === undefined ? null : (
        <Trouble
          error={rows.error}
          {...{ view, change }}
          retry={() => {
            rows.retry();
          }}
        />
      )}
      {empty ? (
        <Nothing
          {...{ filtered, base, rights, orb: orb.id }}
          clear={() => change({ filters: [], search: undefined, status: undefined })}
        />
      ) : rows.known === 0 && rows.error !== undefined ? null : (
        <Grid
          label={schema.name ?? schema.id}
          {...{ rows, columns, orb, view, selected, linkOf }}
          total={total.data}
          start={list.top}
          handle={grid}
          onRange={(next, top) => {
            shown.current = next;
            list.top = top;
            setRange((old) => (old.first === next.first && old.end === next.end ? old : next));
          }}
          onSort={sort}
          onToggle={toggle}
          onSelectTo={selectTo}
          onSelectAll={selectKnown}
          onSelectNone={() => setSelected(NONE)}
          onOpen={(id) => go(linkOf(id))}
        />
      )}
      {empty ? (
        <Changes {...{ news, refresh }} />
      ) : (
        <Foot
          {...{ range, rows, rights, refresh }}
          news={following ? news : { ...NO_NEWS, changed: changes }}
          total={total.data}
          selected={[...selected.values()]}
          collecting={collecting}
          onAct={(act) => setTask({ act, items: [...selected.values()] })}
          onExport={() => setExporting(true)}
          onSelectAll={() => void selectAll()}
          onClear={() => setSelected(NONE)}
        />
      )}
      {task === undefined ? null : (
        <BulkDialog
          {...{ task, place, linkOf }}
          nameOf={name}
          onClose={() => setTask(undefined)}
          onDone={({ changed }) => {
            rows.update(changed);
            setSelected((old) => new Map([...old].filter(([id]) => !changed.has(id))));
            // Changed entries may no longer match the filters, or may have another position in the sort order.
            if (filtered || !isNewestFirst(view)) rows.refresh();
            void total.reload();
          }}
        />
      )}
      {exporting ? (
        <ExportDialog
          {...{ place, schema, orb }}
          query={conditions}
          ids={selected.size === 0 ? undefined : [...selected.keys()]}
          total={total.data}
          onClose={() => setExporting(false)}
        />
      ) : null}
    </div>
  );
}

/** Returns the number of matching entries, or undefined if the platform would have to read too many entries. */
function useTotal(place: EntryPlace, conditions: URLSearchParams) {
  const query = new URLSearchParams(conditions);
  query.delete("sort");
  query.set("count", "true");
  query.set("limit", "1");
  const key = `entries/${place.orb}/${place.module}/${place.schema}?${query}`;
  return useLoad(key, async (signal) => {
    const { total, totalExact } = await listEntries(place, { query, signal });
    return totalExact === false ? undefined : total;
  });
}
