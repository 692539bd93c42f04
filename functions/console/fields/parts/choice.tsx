/** The input for any field that has a list of allowed values. */
import type { Scalar } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import type { InputProps } from "./kind.ts";

export function Choice({ field, value, onChange, attributes, disabled }: InputProps) {
  const options: readonly Scalar[] = field.enum ?? [];
  return (
    <select
      {...attributes}
      disabled={disabled}
      value={value === null || value === undefined ? "" : String(value)}
      onChange={(event) => {
        const text = event.currentTarget.value;
        onChange(options.find((option) => String(option) === text) ?? null);
      }}
    >
      <option value="">{t("fields.none")}</option>
      {options.map((option) => (
        <option key={String(option)} value={String(option)} dir="auto">
          {String(option)}
        </option>
      ))}
    </select>
  );
}
