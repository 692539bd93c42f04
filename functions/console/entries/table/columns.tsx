/** Lets the user choose the columns of the table, and the language and market of its values. */
import { type FieldModel, labelOf, type OrbModel, type SchemaModel } from "../../model/orb.ts";
import { languageName, t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/form.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Popover } from "../../ui/popover.tsx";
import { defaultColumns, fieldOf, PROPERTIES, type View } from "./data/view.ts";
import { STATE } from "./row.tsx";

/** Returns the fields of the given columns. Ignores fields that no longer exist. */
export function columnsOf(schema: SchemaModel, names: readonly string[]): FieldModel[] {
  const found = names.flatMap((name) => (name === "status" ? STATE : (fieldOf(schema, name) ?? [])));
  return found.length > 0 ? found : columnsOf(schema, defaultColumns(schema));
}

export function ColumnsMenu({
  schema,
  names,
  onChange,
}: {
  schema: SchemaModel;
  names: readonly string[];
  /** Called with the names of the chosen columns; undefined for the default columns. */
  onChange: (names: readonly string[] | undefined) => void;
}) {
  const all = [...schema.fields, STATE, ...PROPERTIES];
  // Adding a column sorts all columns by their order in the schema.
  const toggle = (name: string, checked: boolean) => {
    const next = checked ? [...names, name] : names.filter((one) => one !== name);
    const order = all.map((field) => field.name);
    onChange(checked ? next.sort((a, b) => order.indexOf(a) - order.indexOf(b)) : next);
  };
  return (
    <Popover
      label={t("table.columns")}
      align="end"
      button={
        <>
          <Icon name="columns" />
          <span class="wide-only">{t("table.columns")}</span>
        </>
      }
    >
      {() => (
        <fieldset class="options">
          <legend class="sr-only">{t("table.columns")}</legend>
          {all.map((field) => (
            <Checkbox
              key={field.name}
              label={labelOf(field)}
              checked={names.includes(field.name)}
              disabled={names.length === 1 && names.includes(field.name)}
              onChange={(checked) => toggle(field.name, checked)}
            />
          ))}
          <Button kind="quiet" size="small" icon="undo" onClick={() => onChange(undefined)}>
            {t("table.resetColumns")}
          </Button>
        </fieldset>
      )}
    </Popover>
  );
}

/**
 * Lets the user switch the language and market of the values, if the schema has translatable or market-specific
 * fields.
 */
export function VariantSwitch({
  schema,
  orb,
  view,
  onChange,
}: {
  schema: SchemaModel;
  orb: OrbModel;
  view: View;
  onChange: (change: Partial<View>) => void;
}) {
  const choices = [
    ["locale", "translatable", orb.languages, t("table.language")],
    ["market", "marketSpecific", orb.markets, t("table.market")],
  ] as const;
  return (
    <>
      {choices.map(([name, attribute, values, label]) => {
        const [first] = values;
        if (values.length < 2 || !schema.fields.some((field) => field[attribute] === true)) return null;
        return (
          <select
            key={name}
            class="variant"
            aria-label={label}
            title={label}
            value={view[name] ?? first ?? ""}
            onChange={(event) => {
              const { value } = event.currentTarget;
              onChange({ [name]: value === first ? undefined : value });
            }}
          >
            {values.map((value) => (
              <option key={value} value={value}>
                {name === "locale" ? languageName(value) : value}
              </option>
            ))}
          </select>
        );
      })}
    </>
  );
}
