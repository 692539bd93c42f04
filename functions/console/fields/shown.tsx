/** Shows the whole value of a cell, including long texts and all items of a list. */
import { isEmpty, MASK } from "../model/cells.ts";
import { type FieldModel, isObjects } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { kindOf } from "./index.ts";

export function Shown({
  field,
  value,
  language,
}: {
  field: FieldModel;
  value: unknown;
  /** Language of the value, if it has one. */
  language?: string | undefined;
}) {
  if (isEmpty(value)) return <span class="hint">{t("fields.none")}</span>;
  if (value === MASK) return <span class="hint">{t("fields.hidden")}</span>;
  if (Array.isArray(value) && !isObjects(field))
    return (
      <ul class="shown-list">
        {value.map((item, at) => (
          <li key={at}>
            <Shown {...{ field, language }} value={item} />
          </li>
        ))}
      </ul>
    );
  if (field.type === "json" || isObjects(field))
    return (
      <pre class="mono" dir="ltr">
        {JSON.stringify(value, null, 2)}
      </pre>
    );
  if (field.type === "string" || field.type === "text")
    return (
      <span class="shown-text" dir="auto" lang={language}>
        {String(value)}
      </span>
    );
  const { Cell } = kindOf(field);
  return <Cell field={field} value={value} />;
}
