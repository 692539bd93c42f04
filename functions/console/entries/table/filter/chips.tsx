/** The filters of the table: a search box, and conditions on fields. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { labelOf, type SchemaModel, titleField } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Popover } from "../../../ui/popover.tsx";
import {
  type Filter,
  fieldOf,
  filterable,
  opsOf,
  splitValues,
  type View,
  wordsOfFilter,
} from "../data/view.ts";
import { type FilterContext, FilterForm } from "./filter-form.tsx";
import { TargetName } from "./reference-pick.tsx";

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 250;

/**
 * Searches while the user types. Searches in all fields with a search index. If there are none, searches in the title
 * field.
 */
export function Search({
  schema,
  view,
  onChange,
}: {
  schema: SchemaModel;
  view: View;
  onChange: (part: Pick<View, "search"> | Pick<View, "filters">) => void;
}) {
  const title = titleField(schema);
  const byWords = schema.fields.some(({ search }) => search === true);
  const isSearch = ({ name, op }: Filter) => name === title?.name && op === "contains";
  const current = (byWords ? view.search : view.filters.find(isSearch)?.value) ?? "";
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  useEffect(() => {
    if (text === current || (title === undefined && !byWords)) return undefined;
    const timer = setTimeout(() => {
      if (byWords || title === undefined) {
        onChange({ search: text === "" ? undefined : text });
        return;
      }
      const others = view.filters.filter((filter) => !isSearch(filter));
      const filter: Filter = { name: title.name, op: "contains", value: text };
      onChange({ filters: text === "" ? others : [...others, filter] });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  if (!byWords && (title === undefined || !opsOf(title).includes("contains"))) return null;
  const label =
    byWords || title === undefined ? t("table.searchWords") : t("table.search", { field: labelOf(title) });
  return (
    <div class="grid-search">
      <Icon name="search" />
      <input
        id="table-search"
        type="text"
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          if (text === "") event.currentTarget.blur();
          setText("");
        }}
      />
    </div>
  );
}

export function AddFilter({ context, onAdd }: { context: FilterContext; onAdd: (filter: Filter) => void }) {
  if (filterable(context.schema).length === 0) return null;
  return (
    <Popover
      label={t("table.addFilter")}
      button={
        <>
          <Icon name="filter" />
          <span class="wide-only">{t("table.filter")}</span>
        </>
      }
    >
      {(close) => (
        <FilterForm
          context={context}
          onDone={(filter) => {
            close();
            onAdd(filter);
          }}
        />
      )}
    </Popover>
  );
}

/** Shows the active filters. The user can click a filter to edit it. */
export function Chips({
  context,
  view: { filters, any },
  onChange,
  onAny,
}: {
  context: FilterContext;
  view: View;
  onChange: (filters: readonly Filter[]) => void;
  onAny: (any: boolean) => void;
}) {
  const words = useMemo(
    () => filters.map((filter) => wordsOfFilter(context.schema, filter)),
    [filters, context.schema],
  );
  if (filters.length === 0) return null;
  return (
    <ul class="chips" aria-label={t("table.filters")}>
      {filters.length < 2 ? null : (
        <li>
          <select
            class="variant match"
            aria-label={t("table.match")}
            value={any ? "any" : "all"}
            onChange={(event) => onAny(event.currentTarget.value === "any")}
          >
            <option value="all">{t("table.matchAll")}</option>
            <option value="any">{t("table.matchAny")}</option>
          </select>
        </li>
      )}
      {filters.map((filter, at) => {
        const { label, op, value } = words[at] ?? { label: "", op: "", value: "" };
        const field = fieldOf(context.schema, filter.name);
        const reference = field?.type === "reference" && filter.op !== "null" ? field : undefined;
        return (
          <li key={`${filter.name} ${filter.op} ${filter.value}`} class="chip">
            <Popover
              class="chip-text"
              named
              label={t("table.changeFilter")}
              button={
                <>
                  <span class="hint">
                    {label} {op}
                  </span>{" "}
                  <span class="clip">
                    {reference === undefined ? (
                      value
                    ) : (
                      <TargetName
                        {...{ field: reference, orb: context.orb, managed: context.managed }}
                        ids={splitValues(filter.value)}
                      />
                    )}
                  </span>
                </>
              }
            >
              {(close) => (
                <FilterForm
                  {...{ context, filter }}
                  onDone={(next) => {
                    close();
                    onChange(filters.map((one, other) => (other === at ? next : one)));
                  }}
                />
              )}
            </Popover>
            <IconButton
              label={t("table.removeFilter", { filter: [label, op, value].join(" ").trim() })}
              icon="x"
              onClick={() => onChange(filters.filter((_, other) => other !== at))}
            />
          </li>
        );
      })}
      <li>
        <Button kind="quiet" size="small" onClick={() => onChange([])}>
          {t("table.clearFilters")}
        </Button>
      </li>
    </ul>
  );
}
