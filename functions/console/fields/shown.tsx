/** Shows the whole value of a cell, including long texts and all items of a list. */
import { isEmpty, MASK } from "../model/cells.ts";
import type { FieldModel } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { kindOf } from "./index.ts";

export function Shown({ field, value }: { field: FieldModel; value: unknown }) {
  if (isEmpty(value)) return <span class="hint">{t("fields.none")}</span>;
  if (value === MASK) return <span class="hint">{t("fields.hidden")}</span>;
  if (Array.isArray(value))
    return (
      <ul class="shown-list">
        {value.map((item, at) => (
          <li key={at}>
            <Shown field={field} value={item} />
          </li>
        ))}
      </ul>
    );
  if (field.type === "json") return <pre class="mono">{JSON.stringify(value, null, 2)}</pre>;
  if (field.type === "string" || field.type === "text")
    return <span class="shown-text">{String(value)}</span>;
  const { Cell } = kindOf(field);
  return <Cell field={field} value={value} />;
}
