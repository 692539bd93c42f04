import { t } from "../texts/t.ts";
import { Icon } from "../ui/icon.tsx";
import type { FieldKind } from "./parts/kind.ts";

export const booleanKind: FieldKind = {
  Cell: ({ value }) =>
    value === true ? (
      <span class="yes">
        <Icon name="check" />
        <span class="sr-only">{t("fields.yes")}</span>
      </span>
    ) : (
      <span class="hint">{value === false ? t("fields.no") : ""}</span>
    ),
  Input: ({ value, onChange, attributes, disabled }) => (
    <select
      {...attributes}
      disabled={disabled}
      value={typeof value === "boolean" ? String(value) : ""}
      onChange={(event) => {
        const text = event.currentTarget.value;
        onChange(text === "" ? null : text === "true");
      }}
    >
      <option value="">{t("fields.none")}</option>
      <option value="true">{t("fields.yes")}</option>
      <option value="false">{t("fields.no")}</option>
    </select>
  ),
  filterOps: ["eq", "null"],
  parse: (text) =>
    text === ""
      ? { value: null }
      : text === "true" || text === "false"
        ? { value: text === "true" }
        : { message: t("fields.notBoolean") },
  format: (value) => (typeof value === "boolean" ? String(value) : ""),
};
