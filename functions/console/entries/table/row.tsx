// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of rows that a phone shows as cards.
// biome-ignore-all lint/a11y/noNoninteractiveElementToInteractiveRole: a table whose rows can be focused is a grid (ARIA practices).
// biome-ignore-all lint/a11y/useFocusableInteractive: a table whose rows can be focused is a grid (ARIA practices).
import { Component } from "preact";
import { traitsOf } from "../../../../shared/definition/types/index.ts";
import { AccountName } from "../../accounts/name.tsx";
import { kindOf } from "../../fields/index.ts";
import { type FieldModel, isObjects, type OrbModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Badge, StateBadge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/button.tsx";
import { Link } from "../../ui/link.tsx";
import type { Row } from "./data/rows.ts";
import { isAccount, shownValue, storedValue } from "./data/view.ts";

/** The state column. It is not a field of the schema. */
export const STATE: FieldModel = { name: "status", type: "string", label: t("table.state") };

/** Maximum number of list items that a cell shows. */
const ITEMS = 3;

/** Returns the CSS class that sets a column's width. Fixed widths keep columns in place while the user scrolls. */
export function widthOf(field: FieldModel): string {
  if (field.name === "status" || field.name === "id") return `c-${field.name}`;
  if (field.list === true || isObjects(field) || field.type === "text" || field.type === "json")
    return "c-wide";
  if (traitsOf(field.type).kind === "time") return "c-time";
  if (field.type === "boolean" || field.type === "integer") return `c-small ${kindOf(field).align ?? ""}`;
  return `c-middle ${kindOf(field).align ?? ""}`;
}

/** A row is highlighted for this many milliseconds after another user has changed it. */
const FRESH = 2_000;
const isFresh = ({ changedAt }: Row) => changedAt !== undefined && performance.now() - changedAt < FRESH;

interface Wish {
  locale: string | undefined;
  market: string | undefined;
}

/** Shows the value of a field in one language and market. */
function ValueCell({
  item,
  field,
  orb,
  locale,
  market,
}: { item: Row; field: FieldModel; orb: OrbModel } & Wish) {
  if (isAccount(field)) return <AccountName orb={orb.id} id={String(storedValue(item, field))} />;
  const { Cell } = kindOf(field);
  const { value, from } = shownValue(field, storedValue(item, field), orb, { locale, market });
  const language = field.translatable === true ? (from ?? locale ?? orb.languages[0]) : undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return (
      <span class="cell-items">
        {items.slice(0, ITEMS).map((one, at) => (
          <span key={at} lang={language}>
            <Cell field={field} value={one} />
          </span>
        ))}
        {items.length > ITEMS ? <span class="hint">+{items.length - ITEMS}</span> : null}
      </span>
    );
  }
  if (from === undefined)
    return language === undefined ? (
      <Cell field={field} value={value} name={item.names?.[field.name]} />
    ) : (
      <span lang={language}>
        <Cell field={field} value={value} name={item.names?.[field.name]} />
      </span>
    );
  return (
    <span class="standin" lang={from} title={t("table.standIn", { language: from })}>
      <Cell field={field} value={value} />
      <span class="tongue">{from}</span>
    </span>
  );
}

interface Props extends Wish {
  index: number;
  /** Undefined while it loads. */
  item: Row | undefined;
  columns: readonly FieldModel[];
  orb: OrbModel;
  selected: boolean;
  current: boolean;
  linkOf: (id: string) => string;
  onToggle: (index: number) => void;
  onSelectTo: (index: number) => void;
  onOpen: (id: string) => void;
  onCurrent: (index: number) => void;
}

/**
 * A table row. Renders again only when its own data changes, so its event handlers may come from an earlier render of
 * the table.
 */
export class GridRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const names = ["index", "item", "columns", "orb", "selected", "current", "locale", "market"] as const;
    return names.some((name) => next[name] !== this.props[name]);
  }

  #select = (event: MouseEvent) => {
    const { index, onToggle, onSelectTo } = this.props;
    if (event.shiftKey) onSelectTo(index);
    else onToggle(index);
  };

  #press = (event: MouseEvent) => {
    const { item, index, onOpen, onCurrent, onSelectTo } = this.props;
    onCurrent(index);
    const target = event.target instanceof Element ? event.target : null;
    // Links, buttons and check boxes handle their own clicks. Also ignore a click that ends a text selection.
    if (item === undefined || target?.closest("a, button, input, label") !== null) return;
    if (event.shiftKey) {
      getSelection()?.removeAllRanges();
      onSelectTo(index);
    } else if (getSelection()?.isCollapsed !== false) onOpen(item.id);
  };

  override render() {
    const { index, item, columns, orb, selected, current, linkOf, locale, market } = this.props;
    if (item === undefined)
      return (
        <tr role="row" class="waiting" aria-rowindex={index + 2}>
          <td class="c-check" />
          {columns.map((field) => (
            <td key={field.name} class={widthOf(field)}>
              <span class="bone" />
            </td>
          ))}
        </tr>
      );
    const [first, ...others] = columns;
    // On a phone, a row is a card with room for two more values.
    const [second, third] = others.filter(({ name }) => name !== "status");
    const slotOf = (field: FieldModel) =>
      field === first ? "c-first" : field === second ? "c-second" : field === third ? "c-third" : "";
    const label = first === undefined ? item.id : textOf(item, first, orb, { locale, market });
    return (
      <tr
        role="row"
        class={item.gone === true ? "gone" : isFresh(item) ? "fresh" : undefined}
        data-index={index}
        aria-rowindex={index + 2}
        aria-selected={selected}
        tabIndex={current ? 0 : -1}
        onClick={this.#press}
      >
        <td role="gridcell" class="c-check">
          <label class="check-area">
            <input
              type="checkbox"
              tabIndex={-1}
              checked={selected}
              aria-label={t("table.select", { name: label })}
              onClick={this.#select}
            />
          </label>
        </td>
        {columns.map((field, at) => (
          <td key={field.name} role="gridcell" class={`${widthOf(field)} ${slotOf(field)}`}>
            {field.name === "status" ? (
              item.gone === true ? (
                <Badge tone="warning">{t("table.gone")}</Badge>
              ) : (
                <StateBadge of={item} />
              )
            ) : field.name === "id" ? (
              <span class="cell-id">
                <code class="clip">{item.id}</code>
                <CopyButton text={item.id} label={t("table.copyId")} />
              </span>
            ) : at === 0 ? (
              <Link to={linkOf(item.id)} class="strong">
                {label === "" ? (
                  <span class="hint">{t("table.unnamed")}</span>
                ) : (
                  <ValueCell {...{ item, field, orb, locale, market }} />
                )}
              </Link>
            ) : (
              <ValueCell {...{ item, field, orb, locale, market }} />
            )}
          </td>
        ))}
      </tr>
    );
  }
}

/** Returns the value of a column as text. */
function textOf(item: Row, field: FieldModel, orb: OrbModel, wish: Wish): string {
  if (field.name === "status") return t(`state.${item.status}`);
  const { value } = shownValue(field, storedValue(item, field), orb, wish);
  return value === null ? "" : typeof value === "object" ? JSON.stringify(value).slice(0, 80) : String(value);
}
