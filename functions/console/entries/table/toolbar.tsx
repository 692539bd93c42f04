import { useMemo } from "preact/hooks";
import type { EntryPlace } from "../../api/entries.ts";
import type { Status } from "../../api/orbs.ts";
import type { SchemaModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { ColumnsMenu, VariantSwitch } from "./columns.tsx";
import { layoutsOf } from "./data/layout.ts";
import { STATUSES, type View, withFilter } from "./data/view.ts";
import { AddFilter, Chips, Search } from "./filter/chips.tsx";
import type { FilterContext } from "./filter/filter-form.tsx";
import { SaveView, useViews, ViewBar } from "./views.tsx";

/** Shows only entries in one state. */
function StateFilter({
  value,
  onChange,
}: {
  value: Status | undefined;
  onChange: (status: Status | undefined) => void;
}) {
  return (
    <select
      class="variant"
      aria-label={t("table.state")}
      value={value ?? ""}
      onChange={(event) => onChange(STATUSES.find((status) => status === event.currentTarget.value))}
    >
      <option value="">{t("table.anyState")}</option>
      {STATUSES.map((status) => (
        <option key={status} value={status}>
          {t(`state.${status}`)}
        </option>
      ))}
    </select>
  );
}

/** Chooses the layout of the list. */
function LayoutSwitch({
  table,
  schema,
  view: { layout },
  onChange,
}: {
  table: string;
  schema: SchemaModel;
  view: View;
  onChange: (layout: string | undefined) => void;
}) {
  const layouts = useMemo(() => layoutsOf(schema, table), [schema, table]);
  return (
    <select
      class="variant layout"
      aria-label={t("table.layout")}
      title={t("table.layout")}
      value={layout !== undefined && layouts.has(layout) ? layout : ""}
      onChange={({ currentTarget: { value } }) => onChange(value === "" ? undefined : value)}
    >
      <option value="">{t("table.asTable")}</option>
      {[...layouts].map(([name, { label }]) => (
        <option key={name} value={name} dir="auto">
          {label}
        </option>
      ))}
    </select>
  );
}

/** The controls above the list: saved views, search, state, filters, language and columns. */
export function Toolbar({
  table,
  place,
  query,
  view,
  columns,
  isRecord,
  context,
  change,
  onOpen,
  onColumns,
  onExport,
  code,
}: {
  table: string;
  place: EntryPlace;
  query: string;
  view: View;
  columns: readonly string[];
  /** Whether the entries are records or settings, which have no states. */
  isRecord: boolean;
  context: FilterContext;
  change: (part: Partial<View>, replace?: boolean) => void;
  onOpen: (query: string, replace?: boolean) => void;
  onColumns: (names: readonly string[] | undefined) => void;
  onExport: () => void;
  /** Path of the page that shows sample code for the list's request. */
  code: string;
}) {
  const { schema, orb } = context;
  const { managed } = place;
  const views = useViews(table, { place, orb, query, open: onOpen });
  return (
    <div class="grid-tools">
      <ViewBar views={views} />
      <div class="tool-row">
        <Search {...{ schema, view }} onChange={(part) => change(part, true)} />
        {managed && !isRecord ? (
          <StateFilter value={view.status} onChange={(status) => change({ status })} />
        ) : null}
        <AddFilter
          context={context}
          onAdd={(filter) => change({ filters: withFilter(view, filter) })}
          onMissing={(missing) => change({ missing })}
          onUnused={
            managed && !isRecord && place.change === undefined ? () => change({ unused: true }) : undefined
          }
        />
        <SaveView {...{ views, view }} />
        <div class="tool-end">
          <LayoutSwitch {...{ table, schema, view }} onChange={(layout) => change({ layout })} />
          <VariantSwitch {...{ schema, orb, view }} onChange={(part) => change(part)} />
          <ColumnsMenu {...{ schema }} names={columns} onChange={onColumns} />
          <span class="wide-only">
            <LinkButton to={code} icon="code">
              {t("table.code")}
            </LinkButton>
          </span>
          <Button icon="download" aria-label={t("table.export")} title={t("table.export")} onClick={onExport}>
            <span class="wide-only">{t("table.export")}</span>
          </Button>
        </div>
      </div>
      <Chips
        {...{ context, view }}
        onChange={(filters) => change({ filters })}
        onAny={(any) => change({ filters: view.filters, any })}
        onMissing={(missing) => change({ missing })}
        onUsed={() => change({ unused: false })}
        onClear={() => change({ filters: [], missing: undefined, unused: false })}
      />
    </div>
  );
}
