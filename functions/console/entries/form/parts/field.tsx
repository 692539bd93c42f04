/** One field of the form, with an input for each visible language and market. */
import type { Fault } from "../../../../../shared/client/problem.ts";
import { kindOf } from "../../../fields/index.ts";
import { ListInput } from "../../../fields/list.tsx";
import { SecretInput } from "../../../fields/parts/secret.tsx";
import { type Cell, cellsOfField, isMissing, pointerOf, valueAt } from "../../../model/cells.ts";
import { type FieldModel, isObjects, isRequired, labelOf } from "../../../model/orb.ts";
import { languageName, t } from "../../../texts/t.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Field, type InputAttributes } from "../../../ui/form.tsx";
import { faultAt } from "../../../ui/problem.tsx";
import type { FormContext } from "./context.ts";
import { blockFormsOf, ObjectInput } from "./objects.tsx";
import { hintOf, patternText } from "./words.ts";

/** Returns the value of another field, in the language and market of a cell, or else in the default ones. */
function sourceOf({ language, market }: Cell, { draft, orb, schema }: FormContext, name: string): unknown {
  const field = schema.fields.find((one) => one.name === name);
  if (field === undefined) return null;
  const keys = [
    ...(field.marketSpecific === true ? [market ?? orb.markets[0]] : []),
    ...(field.translatable === true ? [language ?? orb.languages[0]] : []),
  ].filter((key) => key !== undefined);
  return valueAt(draft, { way: ["values", name, ...keys] });
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
  if (isObjects(field)) return <ObjectInput {...{ cell, context, attributes }} Editor={FieldEditor} />;
  const kind = kindOf(field);
  const Input = field.list === true ? (kind.ListInput ?? ListInput) : kind.Input;
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
      onUpload={(progress) => context.upload(cell, progress)}
      onOpen={context.open}
      onCreate={context.create}
      readField={(name) => sourceOf(cell, context, name)}
      language={language ?? orb.languages[0]}
      blocks={field.type === "richText" ? blockFormsOf({ cell, context, Editor: FieldEditor }) : undefined}
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

const isOf = ({ path }: Fault, whole: string) => path === whole || path.startsWith(`${whole}/`);

/** Tells in which block of a rich text a fault is. @param paths the values of the field */
function inBlock(fault: Fault, paths: readonly string[]): Fault {
  const whole = paths.find((path) => fault.path.startsWith(`${path}/`));
  const at = Number(fault.path.slice((whole ?? "").length + 1).split("/")[0]);
  if (whole === undefined || !Number.isInteger(at)) return fault;
  return { ...fault, message: t("entry.inBlock", { number: at + 1, message: fault.message }) };
}

/** Returns the name of a field of the entry; undefined for one of an object. */
const nameIn = ({ name }: FieldModel, { before }: FormContext) => (before === undefined ? name : undefined);

/** The names of the people who edit a field of the entry at the moment. */
function Editors({ field, context }: { field: FieldModel; context: FormContext }) {
  const people = context.before === undefined ? (context.present ?? []) : [];
  const here = people.filter((one) => one.field === field.name);
  if (here.length === 0) return null;
  const names = here.map(({ by }) => by.name ?? t("editing.someone")).join(", ");
  return <Badge tone="info">{t("editing.inField", { names })}</Badge>;
}

/** @param props.lock why the field cannot be changed */
function Badges({
  field,
  context,
  lock,
}: {
  field: FieldModel;
  context: FormContext;
  lock: string | undefined;
}) {
  return (
    <span class="field-badges">
      <Editors {...{ field, context }} />
      {field.sensitive === true ? <Badge>{t("entry.sensitive")}</Badge> : null}
      {lock === undefined ? null : <Badge>{t("entry.locked")}</Badge>}
    </span>
  );
}

export function FieldEditor({ field, context }: { field: FieldModel; context: FormContext }) {
  const { orb, draft, language, market } = context;
  // The platform tells the pattern. People read what it means.
  const form = patternText(field);
  const { before = ["values"] } = context;
  const wholePath = pointerOf({ way: [...before, field.name] });
  const all = cellsOfField(field, orb, before);
  const paths = all.map(pointerOf);
  const faults = context.faults
    .map((fault) =>
      fault.code === "pattern" && form !== undefined && !isObjects(field) && isOf(fault, wholePath)
        ? { ...fault, message: form }
        : fault,
    )
    .map((fault) => (field.type === "richText" ? inBlock(fault, paths) : fault))
    // The fields inside an object show their own faults.
    .filter(({ path }) => !isObjects(field) || path === wholePath || paths.includes(path));
  const [first] = all;
  const lock = lockOf(field, context);
  const hint = [hintOf(field), lock].filter((part) => part !== undefined).join(" ") || undefined;
  const badges = <Badges {...{ field, context, lock }} />;
  const required = isRequired(field);
  if (all.length === 1 && first?.language === undefined && first?.market === undefined)
    return first === undefined ? null : (
      <Field
        label={labelOf(field)}
        place={wholePath}
        hint={hint}
        error={faultAt(faults, pointerOf(first))}
        required={required}
        aside={badges}
        name={nameIn(field, context)}
      >
        {(attributes) => <CellInput cell={first} context={context} attributes={attributes} />}
      </Field>
    );
  const shown = all.filter(
    (cell) =>
      (language === undefined || cell.language === undefined || cell.language === language) &&
      (market === undefined || cell.market === undefined || cell.market === market),
  );
  const whole = faults.find(({ path }) => path === wholePath)?.message;
  return (
    <fieldset
      class={`field varying ${whole === undefined ? "" : "wrong"}`}
      data-field={nameIn(field, context)}
      data-path={wholePath}
    >
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
            required={required && (cell === first || field.required === "allLanguages")}
            error={
              faultAt(
                faults.filter(({ path }) => path !== wholePath),
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
