/** The filters of the table: a search box, and conditions on fields. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { AccountName } from "../../../accounts/name.tsx";
import { tableCells } from "../../../model/cells.ts";
import { labelOf, type SchemaModel, titleField } from "../../../model/orb.ts";
import { useCaller } from "../../../state/session.ts";
import { languageName, t } from "../../../texts/t.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Popover } from "../../../ui/popover.tsx";
import {
  type Filter,
  fieldOf,
  filterable,
  isAccount,
  opsOf,
  splitValues,
  type View,
  wordsOfFilter,
} from "../data/view.ts";
import { type FilterContext, FilterForm } from "./filter-form.tsx";
import { TargetName } from "./reference-pick.tsx";

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 250;

const hasWords = ({ fields }: SchemaModel): boolean => fields.some(({ search }) => search === true);

/** Returns a function that tells whether the search box shows a filter: the one for the title, if there is no search index. */
function searchFilter(schema: SchemaModel): (filter: Filter) => boolean {
  const title = hasWords(schema) ? undefined : titleField(schema);
  return ({ name, op }) => name === title?.name && op === "contains";
}

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
  const byWords = hasWords(schema);
  const isSearch = searchFilter(schema);
  const current = (byWords ? view.search : view.filters.find(isSearch)?.value) ?? "";
  const [text, setText] = useState(current);
  // The address follows what the user typed, maybe after the next letter. Only other changes of it go into the box.
  const sent = useRef(current);
  useLayoutEffect(() => {
    if (current === sent.current) return;
    sent.current = current;
    setText(current);
  }, [current]);
  useEffect(() => {
    if (text === current || (title === undefined && !byWords)) return undefined;
    const timer = setTimeout(() => {
      sent.current = text;
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
        dir="auto"
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

/** Conditions that need no form: what the caller has written, what is missing in a language, and what is used nowhere. */
function QuickFilters({
  context: { schema, orb },
  onAdd,
  onMissing,
  onUnused,
}: {
  context: FilterContext;
  onAdd: (filter: Filter) => void;
  onMissing: (language: string) => void;
  onUnused: (() => void) | undefined;
}) {
  const me = useCaller(orb.id).data?.account?.id;
  const translated = tableCells(schema.fields, orb).some(
    ({ field, language }) => language !== undefined && field.sensitive !== true,
  );
  const languages = translated && orb.languages.length > 1 ? orb.languages : [];
  const mine = (["updatedBy", "createdBy"] as const).map((name) => ({
    name,
    op: "eq" as const,
    value: me ?? "",
  }));
  return (
    <fieldset class="options quick-filters">
      <legend class="sr-only">{t("table.quickFilters")}</legend>
      {me === undefined
        ? null
        : mine.map((filter) => (
            <Button key={filter.name} size="small" onClick={() => onAdd(filter)}>
              {t(filter.name === "updatedBy" ? "table.changedByMe" : "table.createdByMe")}
            </Button>
          ))}
      {languages.map((language) => (
        <Button key={language} size="small" onClick={() => onMissing(language)}>
          {t("table.missingIn", { language: languageName(language) })}
        </Button>
      ))}
      {onUnused === undefined ? null : (
        <Button size="small" onClick={onUnused}>
          {t("table.unused")}
        </Button>
      )}
    </fieldset>
  );
}

export function AddFilter({
  context,
  onAdd,
  onMissing,
  onUnused,
}: {
  context: FilterContext;
  onAdd: (filter: Filter) => void;
  onMissing: (language: string) => void;
  /** Shows only entries to which no other entry refers. Undefined if the list cannot. */
  onUnused: (() => void) | undefined;
}) {
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
      {(close) => {
        const closing =
          <T,>(act: (value: T) => void) =>
          (value: T) => {
            close();
            act(value);
          };
        return (
          <>
            <FilterForm context={context} onDone={closing(onAdd)} />
            <QuickFilters
              {...{ context }}
              onAdd={closing(onAdd)}
              onMissing={closing(onMissing)}
              onUnused={onUnused && (() => closing(onUnused)(undefined))}
            />
          </>
        );
      }}
    </Popover>
  );
}

/** Shows the value of a filter: the name of an account or of an entry, or the value itself. */
function FilterValue({ context, filter, words }: { context: FilterContext; filter: Filter; words: string }) {
  const { schema, orb, managed } = context;
  const field = fieldOf(schema, filter.name);
  if (field !== undefined && isAccount(field)) return <AccountName orb={orb.id} id={filter.value} />;
  if (field?.type !== "reference" || filter.op === "null") return <>{words}</>;
  return <TargetName {...{ field, orb, managed }} ids={splitValues(filter.value)} />;
}

function Chip({
  context,
  filter,
  onChange,
  onRemove,
}: {
  context: FilterContext;
  filter: Filter;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}) {
  const { label, op, value } = useMemo(() => wordsOfFilter(context.schema, filter), [context.schema, filter]);
  return (
    <li class="chip">
      <Popover
        class="chip-text"
        named
        label={t("table.changeFilter")}
        button={
          <>
            <span class="hint">
              {label} {op}
            </span>{" "}
            <span class="clip" dir="auto">
              <FilterValue {...{ context, filter }} words={value} />
            </span>
          </>
        }
      >
        {(close) => (
          <FilterForm
            {...{ context, filter }}
            onDone={(next) => {
              close();
              onChange(next);
            }}
          />
        )}
      </Popover>
      <IconButton
        label={t("table.removeFilter", { filter: [label, op, value].join(" ").trim() })}
        icon="x"
        onClick={onRemove}
      />
    </li>
  );
}

/** Shows the active filters. The user can click a filter to edit it. */
/** A condition that needs no form. */
const PlainChip = ({ text, onRemove }: { text: string; onRemove: () => void }) => (
  <li class="chip">
    <span class="chip-text">{text}</span>
    <IconButton label={t("table.removeFilter", { filter: text })} icon="x" onClick={onRemove} />
  </li>
);

export function Chips({
  context,
  view: { filters, any, missing, unused },
  onChange,
  onAny,
  onMissing,
  onUsed,
  onClear,
}: {
  context: FilterContext;
  view: View;
  onChange: (filters: readonly Filter[]) => void;
  onAny: (any: boolean) => void;
  onMissing: (language: string | undefined) => void;
  /** Shows also entries to which others refer. */
  onUsed: () => void;
  onClear: () => void;
}) {
  // The search box shows its own filter, so that a chip does not push the table down while the user types.
  const isOwn = searchFilter(context.schema);
  if (filters.every(isOwn) && missing === undefined && !unused) return null;
  const missingText = missing === undefined ? "" : t("table.missingIn", { language: languageName(missing) });
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
      {filters.map((filter, at) => (
        <Chip
          key={`${filter.name} ${filter.op} ${filter.value}`}
          {...{ context, filter }}
          onChange={(next) => onChange(filters.with(at, next))}
          onRemove={() => onChange(filters.toSpliced(at, 1))}
        />
      ))}
      {missing === undefined ? null : <PlainChip text={missingText} onRemove={() => onMissing(undefined)} />}
      {unused ? <PlainChip text={t("table.unused")} onRemove={onUsed} /> : null}
      <li>
        <Button kind="quiet" size="small" onClick={onClear}>
          {t("table.clearFilters")}
        </Button>
      </li>
    </ul>
  );
}
