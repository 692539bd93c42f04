/** One field of the form, with an input for each visible language and market. */
import type { Fault } from "../../../../shared/client/problem.ts";
import { kindOf } from "../../fields/index.ts";
import type { EntryTarget } from "../../fields/kind.ts";
import { ListInput } from "../../fields/list.tsx";
import { SecretInput } from "../../fields/secret.tsx";
import { type Cell, type Content, cellsOfField, isMissing, pointerOf, valueAt } from "../../model/cells.ts";
import { type FieldModel, labelOf, type OrbModel } from "../../model/orb.ts";
import { languageName, t } from "../../texts/t.ts";
import { Badge } from "../../ui/badge.tsx";
import { Field, type InputAttributes } from "../../ui/form.tsx";
import { faultAt } from "../../ui/problem.tsx";
import { hintOf } from "./words.ts";

/** Properties that are the same for all fields of a form. */
export interface FormContext {
  orb: OrbModel;
  managed: boolean;
  draft: Content;
  faults: readonly Fault[];
  /** The reason why the entry cannot be changed; undefined if it can be changed. */
  readOnly: string | undefined;
  writable: ReadonlySet<string>;
  /** The language and market to show; undefined for all. */
  language: string | undefined;
  market: string | undefined;
  revealed: Content | undefined;
  reveal: (() => Promise<void>) | undefined;
  set: (cell: Cell, value: unknown) => void;
  /** Sets the error message for input that cannot be parsed, or clears it (undefined). */
  tell: (cell: Cell, message: string | undefined) => void;
  open: (target: EntryTarget) => void;
}

function CellInput({
  cell,
  context,
  attributes,
}: {
  cell: Cell;
  context: FormContext;
  attributes: InputAttributes;
}) {
  const { field, language } = cell;
  const { draft, readOnly, writable, orb, managed, revealed } = context;
  const disabled = readOnly !== undefined || !writable.has(field.name);
  const Input = field.list === true ? ListInput : kindOf(field).Input;
  const input = (value: unknown) => (
    <Input
      field={field}
      value={value}
      orb={orb.id}
      managed={managed}
      disabled={disabled}
      attributes={{ ...attributes, ...(language === undefined ? {} : { lang: language }) }}
      onChange={(changed) => context.set(cell, changed)}
      onFault={(message) => context.tell(cell, message)}
      onOpen={context.open}
    />
  );
  const value = valueAt(draft, cell);
  if (field.sensitive !== true) return input(value);
  return (
    <SecretInput
      value={value}
      attributes={attributes}
      disabled={disabled}
      revealed={revealed === undefined ? undefined : { value: valueAt(revealed, cell) }}
      reveal={context.reveal}
      onChange={(changed) => context.set(cell, changed)}
    >
      {input}
    </SecretInput>
  );
}

/** Returns the text next to a field that says why the field cannot be changed. */
function lockOf(field: FieldModel, { readOnly, writable }: FormContext): string | undefined {
  return readOnly === undefined && !writable.has(field.name) ? t("entry.fieldLocked") : undefined;
}

export function FieldEditor({ field, context }: { field: FieldModel; context: FormContext }) {
  const { orb, draft, faults, language, market } = context;
  const all = cellsOfField(field, orb);
  const [first] = all;
  const lock = lockOf(field, context);
  const hint = [hintOf(field), lock].filter((part) => part !== undefined).join(" ") || undefined;
  const badges = (
    <span class="field-badges">
      {field.sensitive === true ? <Badge>{t("entry.sensitive")}</Badge> : null}
      {lock === undefined ? null : <Badge>{t("entry.locked")}</Badge>}
    </span>
  );
  const required = field.required === true;
  if (all.length === 1 && first?.language === undefined && first?.market === undefined)
    return first === undefined ? null : (
      <Field
        label={labelOf(field)}
        hint={hint}
        error={faultAt(faults, pointerOf(first))}
        required={required}
        aside={badges}
      >
        {(attributes) => <CellInput cell={first} context={context} attributes={attributes} />}
      </Field>
    );
  const shown = all.filter(
    (cell) =>
      (language === undefined || cell.language === undefined || cell.language === language) &&
      (market === undefined || cell.market === undefined || cell.market === market),
  );
  const whole = faults.find(({ path }) => path === `/values/${field.name}`)?.message;
  return (
    <fieldset class={`field varying ${whole === undefined ? "" : "wrong"}`}>
      <legend>
        {labelOf(field)} {badges}
      </legend>
      {hint === undefined ? null : <p class="hint">{hint}</p>}
      <div class="cells">
        {shown.map((cell) => (
          <Field
            key={pointerOf(cell)}
            label={[cell.market, cell.language === undefined ? undefined : languageName(cell.language)]
              .filter((part) => part !== undefined)
              .join(" · ")}
            required={required && cell === first}
            error={
              faultAt(
                faults.filter(({ path }) => path !== `/values/${field.name}`),
                pointerOf(cell),
              ) ?? (cell === shown[0] ? whole : undefined)
            }
            aside={
              isMissing(draft, cell, orb.languages) ? (
                <Badge tone="warning">{t("entry.missing")}</Badge>
              ) : null
            }
          >
            {(attributes) => <CellInput cell={cell} context={context} attributes={attributes} />}
          </Field>
        ))}
      </div>
    </fieldset>
  );
}
