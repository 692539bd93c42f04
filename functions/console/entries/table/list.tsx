/** The list of a schema's entries: toolbar, table, selection, and actions on the selected entries. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import { type EntryPlace, listEntries } from "../../api/entries.ts";
import { sessionEnded } from "../../api/http.ts";
import type { FieldModel, OrbModel, Scalar, SchemaModel } from "../../model/orb.ts";
import { codeLink } from "../../shell/nav.ts";
import { refresh } from "../../state/cache.ts";
import { setsKey } from "../../state/change.ts";
import { useCommands } from "../../state/commands.ts";
import { leaveFreely } from "../../state/leave.ts";
import { useLoad } from "../../state/load.ts";
import { useCaller } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { complain, say } from "../../ui/toast.tsx";
import { AddDialog, hasDraft } from "../add.tsx";
import type { Rights } from "./bulk/bulk.ts";
import { BulkDialog, type BulkTask } from "./bulk/bulk-dialog.tsx";
import { ExportDialog } from "./bulk/export-dialog.tsx";
import { columnsOf } from "./columns.tsx";
import { isServed, MOST, NO_NEWS, useFollow } from "./data/follow.ts";
import { useChanges } from "./data/fresh.ts";
import { type Layout, layoutsOf } from "./data/layout.ts";
import { nameOf } from "./data/names.ts";
import type { Rows } from "./data/rows.ts";
import { readColumns, writeColumns } from "./data/stored.ts";
import { listQuery, useRows } from "./data/use-rows.ts";
import {
  defaultColumns,
  type Filter,
  isNewestFirst,
  NEWEST,
  readView,
  runtimeConditionsOf,
  shownValue,
  storedValue,
  type View,
  withFilter,
  writeView,
} from "./data/view.ts";
import { Changes, Foot } from "./foot.tsx";
import { Grid, type GridHandle, type Range } from "./grid.tsx";
import { OtherLayout } from "./other-layout.tsx";
import { useSelection } from "./selection.ts";
import { Remedy, Slow } from "./slow.tsx";
import { Toolbar } from "./toolbar.tsx";
import { Nothing, Trouble } from "./trouble.tsx";

interface ListProps {
  /** Incremented when entries were imported, so that the list loads again. */
  version: number;
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  rights: Rights;
  /** Path of this page. */
  base: string;
}

/** Reads the view from the address, and the columns that the user has chosen earlier. */
function useListView({ place, schema, orb, base }: ListProps) {
  const table = `${place.orb}/${place.module}/${place.schema}`;
  const search = useSearch();
  const [, go] = useLocation();
  const view = useMemo(() => readView(new URLSearchParams(search)), [search]);
  const [remembered, setRemembered] = useState(() => readColumns(table));
  const type = orb.modules.find(({ id }) => id === place.module)?.type;
  const isRecord = type === "TRANSACTIONS" || type === "SETTINGS";
  const names = view.columns ?? remembered ?? defaultColumns(schema, isRecord);
  const columns = useMemo(() => columnsOf(schema, names), [schema, names.join()]);
  const open = (query: string, replace = false) => go(query === "" ? base : `${base}?${query}`, { replace });
  return {
    table,
    view,
    isRecord,
    names,
    columns,
    open,
    filtered: view.filters.length > 0 || Boolean(view.search ?? view.missing ?? view.status) || view.unused,
    remember(next: readonly string[] | undefined) {
      setRemembered(next);
      writeColumns(table, next ?? defaultColumns(schema, isRecord));
    },
  };
}

/** Whether the platform had to compare many entries for these rows, also after the search has ended. */
function useSlow(rows: Rows): boolean {
  const slow = useRef(false);
  const compared = useRef(rows);
  if (compared.current !== rows) slow.current = false;
  compared.current = rows;
  if (rows.searched > 0) slow.current = true;
  return slow.current;
}

/** Reads again what the layouts beside the table show. */
const readLayouts = ({ orb, module, schema, change }: EntryPlace) =>
  refresh(`entries/${orb}/${module}/${schema}/${change ?? ""}/`);

/** Reads the rows, follows changes by others, and reads a list again when it is asked to. */
function useListRows(
  { place, orb, rights, version, schema }: ListProps,
  view: View,
  columns: readonly FieldModel[],
) {
  const { drafts } = rights;
  const list = useRows({ place, schema, orb, view, columns, drafts });
  const { rows } = list;
  // Reading this signal makes the component render again when the rows change.
  rows.version.value;
  const selection = useSelection({ place, schema, columns, rows });
  const [range, setRange] = useState<Range>({ first: 0, end: 0 });
  const shown = useRef(range);
  const grid = useRef<GridHandle>(null);
  const conditions = listQuery({ view, drafts });
  const total = useTotal(place, conditions);
  const isLive = place.change === undefined && !view.unused && isServed(orb, place);
  const possible = isLive && total.data !== undefined && total.data <= MOST;
  const paused = selection.selected.size > 0;
  const { following, news, begin } = useFollow(list, { place, view, drafts }, { possible, paused });
  const [changes, clearChanges] = useChanges(rows, () => shown.current, !following);
  /** How often the list was asked for again. */
  const [reads, setReads] = useState(0);
  const refresh = () => {
    clearChanges();
    setReads((now) => now + 1);
    readLayouts(place);
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
  return {
    ...{ list, rows, selection, range, grid, conditions, total, refresh, reads },
    slow: useSlow(rows),
    news: following ? news : { ...NO_NEWS, changed: changes },
    show(next: Range, top: number) {
      shown.current = next;
      list.top = top;
      setRange((old) => (old.first === next.first && old.end === next.end ? old : next));
    },
  };
}

type Listed = ReturnType<typeof useListRows>;

function useListCommands({ rows, grid, refresh }: Listed, code: string): void {
  const [, go] = useLocation();
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
}

/** Returns values of a field in the first rows, which a filter can suggest. */
function knownValuesIn(rows: Rows, field: FieldModel, orb: OrbModel, view: View): string[] {
  const found = new Set<string>();
  for (let index = 0; index < Math.min(rows.known, 300) && found.size < 50; index++) {
    const item = rows.at(index);
    const value = item === undefined ? null : shownValue(field, storedValue(item, field), orb, view).value;
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === "string" && one.length < 100) found.add(one);
    }
  }
  return [...found].sort();
}

/** The table, and what explains it while it has no rows. */
function Frame({
  listed,
  props,
  view,
  columns,
  change,
}: {
  listed: Listed;
  props: ListProps;
  view: View;
  columns: readonly FieldModel[];
  change: (part: Partial<View>) => void;
}) {
  const { place, orb, schema, base } = props;
  const { list, rows, selection, grid, total, show } = listed;
  const [, go] = useLocation();
  const linkOf = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const sort = (column: string) =>
    change({ sort: view.sort === column ? `-${column}` : view.sort === `-${column}` ? NEWEST : column });
  if (rows.known === 0 && rows.error !== undefined) return null;
  return (
    <div class="grid-frame">
      {rows.known === 0 && rows.searched > 0 ? (
        <Slow {...{ rows, place, orb, schema, view, change }} />
      ) : null}
      <Grid
        label={schema.name ?? schema.id}
        {...{ rows, columns, orb, view, linkOf }}
        selected={selection.selected}
        total={total.data}
        start={list.top}
        handle={grid}
        onRange={show}
        onSort={sort}
        onToggle={selection.toggle}
        onSelectTo={selection.selectTo}
        onSelectAll={selection.selectKnown}
        onSelectNone={selection.clear}
        onOpen={(id) => go(linkOf(id))}
      />
    </div>
  );
}

/** Adds the selected entries that have a draft to a change set, and shows the list in it. */
function Adding({
  listed,
  props,
  view,
  onClose,
}: {
  listed: Listed;
  props: ListProps;
  view: View;
  onClose: () => void;
}) {
  const { place, schema, orb, base } = props;
  const { selection } = listed;
  const caller = useCaller(orb.id).data;
  const [, go] = useLocation();
  const module = orb.modules.find(({ id }) => id === place.module);
  if (caller === undefined || module === undefined) return null;
  const drafts = [...selection.selected.values()].filter(hasDraft);
  return (
    <AddDialog
      {...{ place, onClose }}
      source={{ caller, orb, module, schema }}
      ids={drafts.map(({ id }) => id)}
      skipped={selection.selected.size - drafts.length}
      nameOf={(id) => {
        const row = selection.selected.get(id);
        return row === undefined ? id : nameOf(row, schema, orb, view);
      }}
      onAdded={(set) => {
        say(t("changes.added", { count: drafts.length }));
        selection.clear();
        refresh(setsKey(orb.id));
        onClose();
        leaveFreely();
        go(`${base}?change=${encodeURIComponent(set)}`);
      }}
    />
  );
}

type SetValueModule = typeof import("./set-value.tsx");

/** Sets a value in the selected entries. */
function Setting({
  listed,
  props,
  view,
  onClose,
}: {
  listed: Listed;
  props: ListProps;
  view: View;
  onClose: () => void;
}) {
  const { place, schema, orb, base, rights } = props;
  const { rows, selection, total } = listed;
  // Stays the same when the selection changes after the write.
  const [items] = useState(() => [...selection.selected.values()]);
  const [module, setModule] = useState<SetValueModule>();
  useEffect(() => {
    import("./set-value.tsx").then(setModule, (error: unknown) => {
      onClose();
      complain(error);
    });
  }, []);
  if (module === undefined) return null;
  return (
    <module.SetValueDialog
      {...{ items, place, schema, orb, onClose }}
      publishable={rights.publish}
      nameOf={(item) => nameOf(item, schema, orb, view)}
      linkOf={(id) => `${base}/${encodeURIComponent(id)}`}
      onDone={() => {
        selection.clear();
        rows.refresh();
        void total.reload();
      }}
    />
  );
}

/** The dialogs that act on the selected entries, or on all entries of the list. */
function Dialogs({
  listed,
  props,
  view,
  task,
  exporting,
  adding,
  setting,
  filtered,
  onClose,
}: {
  listed: Listed;
  props: ListProps;
  view: View;
  task: BulkTask | undefined;
  exporting: boolean;
  adding: boolean;
  setting: boolean;
  filtered: boolean;
  onClose: () => void;
}) {
  const { place, schema, orb, base } = props;
  const { rows, selection, total, conditions } = listed;
  const linkOf = (id: string) => `${base}/${encodeURIComponent(id)}`;
  return (
    <>
      {task === undefined ? null : (
        <BulkDialog
          {...{ task, place, linkOf, onClose }}
          nameOf={(item) => nameOf(item, schema, orb, view)}
          onDone={({ changed }) => {
            rows.update(changed);
            selection.drop(changed);
            // Changed entries may no longer match the filters, or may have another position in the sort order.
            if (filtered || !isNewestFirst(view)) rows.refresh();
            void total.reload();
          }}
        />
      )}
      {setting ? <Setting {...{ listed, props, view, onClose }} /> : null}
      {adding ? <Adding {...{ listed, props, view, onClose }} /> : null}
      {exporting ? (
        <ExportDialog
          {...{ place, schema, orb, onClose }}
          query={conditions}
          ids={selection.selected.size === 0 ? undefined : [...selection.selected.keys()]}
          total={total.data}
        />
      ) : null}
    </>
  );
}

/** The entries, in the layout that the user has chosen. */
function Shown({ layout, ...shown }: Parameters<typeof Frame>[0] & { layout: Layout | undefined }) {
  const { listed, props, view, change } = shown;
  const { place, schema, orb, rights, base } = props;
  if (layout === undefined) return <Frame {...shown} />;
  return (
    <OtherLayout
      {...{ layout, place, schema, orb, view }}
      changes={rights.update}
      conditions={listed.conditions}
      version={listed.reads}
      linkOf={(id) => `${base}/${encodeURIComponent(id)}`}
      onAll={(name, value) =>
        change({ layout: undefined, filters: withFilter(view, filterFor(name, value)) })
      }
    />
  );
}

/**
 * Reads the rows again when the user comes back to the table: another layout may have changed values. Other layouts do
 * not show what is selected, so nothing is.
 */
function useFreshTable(isTable: boolean, { refresh, selection }: Listed): void {
  const wasTable = useRef(isTable);
  useEffect(() => {
    if (isTable && !wasTable.current) refresh();
    if (!isTable) selection.clear();
    wasTable.current = isTable;
  }, [isTable]);
}

/** Returns a filter for the entries that have a value, or none. */
const filterFor = (name: string, value: Scalar | undefined): Filter =>
  value === undefined ? { name, op: "null", value: "true" } : { name, op: "eq", value: String(value) };

export function List(props: ListProps) {
  const { place, schema, orb, rights, base } = props;
  const { managed } = place;
  const { table, view, isRecord, names, columns, open, filtered, remember } = useListView(props);
  const listed = useListRows(props, view, columns);
  const { rows, selection, range, total, refresh, news, conditions } = listed;
  const [task, setTask] = useState<BulkTask>();
  const [exporting, setExporting] = useState(false);
  const [adding, setAdding] = useState(false);
  const [setting, setSetting] = useState(false);
  const inSet = place.change !== undefined;
  const code = codeLink(place, { operation: "list", query: String(runtimeConditionsOf(view)) });
  useListCommands(listed, code);
  const { layout } = layoutsOf(schema, table).get(view.layout ?? "") ?? {};
  useFreshTable(layout === undefined, listed);
  const change = (part: Partial<View>, replace = false) => {
    // If the filters change, clear the selection. Otherwise it could contain entries that the list does not show.
    if (["filters", "status", "search", "missing", "unused"].some((name) => name in part)) selection.clear();
    open(writeView({ ...view, ...part }), replace);
  };
  const knownValues = (field: FieldModel) => knownValuesIn(rows, field, orb, view);
  const empty = rows.known === 0 && rows.ended;
  const selected = [...selection.selected.values()];
  return (
    <div class="entries">
      {empty && !filtered ? null : (
        <Toolbar
          {...{ table, place, view, change, columns: names, isRecord, code }}
          query={writeView(view)}
          context={{ schema, orb, managed, knownValues }}
          onOpen={open}
          onColumns={(next) => {
            remember(next);
            change({ columns: next }, true);
          }}
          onExport={() => setExporting(true)}
        />
      )}
      {rows.error === undefined ? null : (
        <Trouble error={rows.error} {...{ view, change }} retry={() => rows.retry()} />
      )}
      {empty ? (
        <Nothing
          {...{ filtered, base, rights, orb: orb.id }}
          clear={() =>
            change({ filters: [], search: undefined, missing: undefined, status: undefined, unused: false })
          }
        />
      ) : (
        <Shown {...{ listed, props, view, columns, change, layout }} />
      )}
      {empty || layout !== undefined ? (
        <Changes {...{ news, refresh }} />
      ) : (
        <Foot
          {...{ range, rows, rights, refresh, news, selected }}
          remedy={listed.slow ? <Remedy {...{ place, orb, schema, view, change }} /> : null}
          total={total.data}
          collecting={selection.collecting}
          onAct={(act) => setTask({ act, items: selected })}
          inSet={inSet}
          onSet={rights.update ? () => setSetting(true) : undefined}
          onAdd={!inSet && !rights.fixed && rights.drafts ? () => setAdding(true) : undefined}
          onExport={() => setExporting(true)}
          onSelectAll={() => void selection.selectAll(conditions)}
          onClear={selection.clear}
        />
      )}
      <Dialogs
        {...{ listed, props, view, task, exporting, adding, setting, filtered }}
        onClose={() => {
          setTask(undefined);
          setExporting(false);
          setAdding(false);
          setSetting(false);
        }}
      />
    </div>
  );
}

/** Returns the number of matching entries, or undefined if the platform would have to read too many entries. */
function useTotal(place: EntryPlace, conditions: URLSearchParams) {
  const query = new URLSearchParams(conditions);
  query.delete("sort");
  query.set("count", "true");
  query.set("limit", "1");
  const key = `entries/${place.orb}/${place.module}/${place.schema}/${place.change ?? ""}?${query}`;
  return useLoad(key, async (signal) => {
    const { total, totalExact } = await listEntries(place, { query, signal });
    return totalExact === false ? undefined : total;
  });
}
