/** Lets the user choose a filter: a field, an operator and a value. */
import { useId, useState } from "preact/hooks";
import { traitsOf } from "../../../../../shared/definition/types/index.ts";
import { AccountPicker } from "../../../accounts/picker.tsx";
import { kindOf } from "../../../fields/index.ts";
import type { FilterOp } from "../../../fields/parts/kind.ts";
import { type FieldModel, labelOf, type OrbModel, type SchemaModel } from "../../../model/orb.ts";
import { useAccountNames } from "../../../state/names.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Checkbox, Field, SelectField } from "../../../ui/form.tsx";
import {
  type Filter,
  fieldOf,
  filterable,
  isAccount,
  isTemporal,
  joinValues,
  opLabel,
  opsOf,
  splitValues,
} from "../data/view.ts";
import { ReferencePick } from "./reference-pick.tsx";

export interface FilterContext {
  schema: SchemaModel;
  orb: OrbModel;
  managed: boolean;
  /** Values of a field in the visible rows, for autocompletion. */
  knownValues: (field: FieldModel) => readonly string[];
}

/** An operator in the form. The API's operator `null` appears as two choices: the field has a value, or has none. */
type Choice = FilterOp | "filled";

function ValueInput({
  field,
  op,
  value,
  onChange,
  context: { orb, managed, knownValues },
}: {
  field: FieldModel;
  op: FilterOp;
  value: string;
  onChange: (value: string) => void;
  context: FilterContext;
}) {
  const list = useId();
  const nameOf = useAccountNames(orb.id);
  const { Input, parse, format } = kindOf(field);
  if (isAccount(field))
    return (
      <AccountPicker
        label={t("table.value")}
        orb={orb.id}
        searches={managed}
        name={nameOf(value)}
        known={knownValues(field).map((id) => ({ id, name: nameOf(id) }))}
        {...{ value, onChange }}
      />
    );
  if (field.type === "reference")
    return <ReferencePick {...{ field, orb, managed, value, onChange }} several={op === "in"} />;
  if (op === "in" && field.enum !== undefined) {
    const chosen = splitValues(value);
    return (
      <fieldset class="options">
        <legend class="sr-only">{t("table.values")}</legend>
        {field.enum.map(String).map((option) => (
          <Checkbox
            key={option}
            label={option}
            checked={chosen.includes(option)}
            onChange={(checked) =>
              onChange(joinValues(checked ? [...chosen, option] : chosen.filter((one) => one !== option)))
            }
          />
        ))}
      </fieldset>
    );
  }
  const plain = traitsOf(field.type).kind === "text" || op === "in" || op === "near" || op === "within";
  if (!plain || (field.enum !== undefined && op !== "contains")) {
    const parsed = parse(value, field);
    return (
      <Field label={t("table.value")}>
        {(attributes) => (
          <Input
            key={field.name}
            {...{ field, attributes, orb: orb.id, managed }}
            value={"value" in parsed ? parsed.value : value}
            onChange={(next) => onChange(format(next, field))}
          />
        )}
      </Field>
    );
  }
  return (
    <Field label={t("table.value")} {...(op === "in" ? { hint: t("table.inHint") } : {})}>
      {(attributes) => (
        <>
          <input
            {...attributes}
            type="text"
            autocomplete="off"
            list={list}
            value={value}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          <datalist id={list}>
            {(op === "in" ? [] : knownValues(field)).map((known) => (
              <option key={known} value={known} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

export function FilterForm({
  context,
  filter,
  onDone,
}: {
  context: FilterContext;
  filter?: Filter;
  onDone: (filter: Filter) => void;
}) {
  const { schema } = context;
  const fields = filterable(schema);
  const [name, setName] = useState(filter?.name ?? fields[0]?.name ?? "");
  const field = fieldOf(schema, name) ?? fields[0];
  const ops = field === undefined ? [] : opsOf(field);
  const before: Choice | undefined =
    filter?.op === "null" && filter.value === "false" ? "filled" : filter?.op;
  const [choice, setChoice] = useState<Choice | undefined>(before);
  const [value, setValue] = useState(filter === undefined || filter.op === "null" ? "" : filter.value);
  if (field === undefined) return null;
  const chosen = choice ?? ops[0] ?? "eq";
  const op: FilterOp = chosen === "filled" ? "null" : chosen;
  const temporal = isTemporal(field);
  const options = ops.flatMap((one) =>
    one === "null"
      ? [
          { value: "null", label: t("table.opEmpty") },
          { value: "filled", label: t("table.opFilled") },
        ]
      : { value: one, label: opLabel(one, temporal) },
  );
  const ready = op === "null" || value !== "";
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onDone({ name, op, value: op === "null" ? String(chosen === "null") : value });
      }}
    >
      <SelectField
        label={t("table.field")}
        value={name}
        options={fields.map((one) => ({ value: one.name, label: labelOf(one) }))}
        onChange={(next) => {
          setName(next);
          setChoice(undefined);
          setValue("");
        }}
      />
      <SelectField
        label={t("table.condition")}
        value={chosen}
        options={options}
        onChange={(next) => {
          setChoice(next as Choice);
          if (next === "in" || chosen === "in") setValue("");
        }}
      />
      {op === "null" ? null : (
        <ValueInput key={`${name} ${op}`} {...{ field, op, value, context }} onChange={setValue} />
      )}
      <Button type="submit" kind="primary" disabled={!ready}>
        {t("table.applyFilter")}
      </Button>
    </form>
  );
}
