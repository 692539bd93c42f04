/** A dialog that sets one value in the selected entries. The browser loads it when it is first opened. */
import { useId, useRef, useState } from "preact/hooks";
import type { EntryPlace } from "../../api/entries.ts";
import { kindOf } from "../../fields/index.ts";
import { ListInput } from "../../fields/list.tsx";
import { type Cell, cellsOfField, isEmpty } from "../../model/cells.ts";
import { type FieldModel, isObjects, labelOf, type OrbModel, type SchemaModel } from "../../model/orb.ts";
import { useCaller } from "../../state/session.ts";
import { languageName, t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Checkbox, Field, SelectField } from "../../ui/form.tsx";
import { Link } from "../../ui/link.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { Progress } from "../../ui/states.tsx";
import { complain, say } from "../../ui/toast.tsx";
import { rightsOf } from "../rights.ts";
import { setValues, undoValues, type ValueOutcome } from "./bulk/values.ts";
import type { Row } from "./data/rows.ts";

interface SetValueProps {
  items: readonly Row[];
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  publishable: boolean;
  nameOf: (item: Row) => string;
  linkOf: (id: string) => string;
  /** Called after entries were changed. */
  onDone: () => void;
  onClose: () => void;
}

/** Returns whether one value can make sense for many entries, and fits into one input. */
const isSettable = (field: FieldModel): boolean =>
  field.sensitive !== true && field.unique !== true && !isObjects(field) && field.type !== "richText";

const placeOf = ({ market, language }: Cell): string =>
  [market, language === undefined ? undefined : languageName(language)]
    .filter((part) => part !== undefined)
    .join(" · ");

/** Runs the change, and follows its progress. `total` is 0 until it begins. */
function useChange({ place, onDone, onClose }: SetValueProps, cell: Cell | undefined) {
  const [count, setCount] = useState(0);
  const [total, setTotal] = useState(0);
  const [failed, setFailed] = useState<ValueOutcome["error"]>();
  const abort = useRef<AbortController>();
  const undo = async (done: ValueOutcome["done"]) => {
    if (cell === undefined) return;
    await undoValues(place, cell, done).then(() => say(t("table.undone", { count: done.length })), complain);
    onDone();
  };
  const run = async (ids: readonly string[], value: unknown, publish: boolean) => {
    if (cell === undefined) return;
    abort.current = new AbortController();
    setFailed(undefined);
    setTotal(ids.length);
    setCount(0);
    const { signal } = abort.current;
    const { done, error } = await setValues(place, ids, { cell, value, publish }, { signal, tell: setCount });
    setTotal(0);
    setFailed(error);
    if (done.length > 0) onDone();
    if (done.length > 0 || error === undefined)
      say(
        t(place.change === undefined ? "table.valueDone" : "table.inSetDone", { count: done.length }),
        place.change !== undefined || done.length === 0
          ? undefined
          : { label: t("table.undo"), run: () => void undo(done) },
      );
    if (error === undefined) onClose();
  };
  return { count, total, failed, run, stop: () => abort.current?.abort() };
}

function ValueInput({
  cell,
  value,
  orb,
  managed,
  onChange,
  onFault,
}: {
  cell: Cell;
  value: unknown;
  orb: OrbModel;
  managed: boolean;
  onChange: (value: unknown) => void;
  onFault: (message: string | undefined) => void;
}) {
  const { field, language } = cell;
  const kind = kindOf(field);
  const Input = field.list === true ? (kind.ListInput ?? ListInput) : kind.Input;
  return (
    <Field label={t("table.value")} hint={field.description}>
      {(attributes) => (
        <Input
          {...{ field, value, managed, attributes, onChange, onFault }}
          orb={orb.id}
          language={language ?? orb.languages[0]}
        />
      )}
    </Field>
  );
}

/** What the user has chosen: a field, its language and market, and the value. */
function useDraft({ place, schema, orb }: SetValueProps) {
  const caller = useCaller(orb.id).data;
  const module = orb.modules.find(({ id }) => id === place.module);
  const writable =
    caller === undefined || module === undefined
      ? new Set<string>()
      : rightsOf(caller, { orb, module, schema }, undefined).writable;
  const fields = schema.fields.filter((field) => isSettable(field) && writable.has(field.name));
  const [name, setName] = useState(fields[0]?.name);
  const field = fields.find((one) => one.name === name) ?? fields[0];
  const cells = field === undefined ? [] : cellsOfField(field, orb);
  const [at, setAt] = useState("");
  const cell = cells.find((one) => placeOf(one) === at) ?? cells[0];
  const [value, setValue] = useState<unknown>(null);
  const [empty, setEmpty] = useState(false);
  const [publish, setPublish] = useState(false);
  const [fault, setFault] = useState<string>();
  const choose = (set: (name: string) => void) => (next: string) => {
    set(next);
    setValue(null);
    setFault(undefined);
  };
  return {
    ...{ fields, field, cells, cell, value, setValue, setFault, empty, setEmpty, publish, setPublish },
    ready: cell !== undefined && (empty || (fault === undefined && !isEmpty(value))),
    setField: choose(setName),
    setPlace: choose(setAt),
  };
}

type Draft = ReturnType<typeof useDraft>;

/** @param mayPublish whether some of the entries can be published at once */
function DraftForm({
  id,
  draft,
  orb,
  managed,
  mayPublish,
  onSubmit,
}: {
  id: string;
  draft: Draft;
  orb: OrbModel;
  managed: boolean;
  mayPublish: boolean;
  onSubmit: () => void;
}) {
  const { fields, field, cells, cell, value, empty } = draft;
  return (
    <form
      id={id}
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <SelectField
        label={t("table.field")}
        value={field?.name ?? ""}
        options={fields.map((one) => ({ value: one.name, label: labelOf(one) }))}
        onChange={draft.setField}
      />
      {cells.length < 2 ? null : (
        <SelectField
          label={t("table.valuePlace")}
          value={cell === undefined ? "" : placeOf(cell)}
          options={cells.map((one) => ({ value: placeOf(one), label: placeOf(one) }))}
          onChange={draft.setPlace}
        />
      )}
      {cell === undefined || empty ? null : (
        <ValueInput
          key={`${cell.field.name} ${placeOf(cell)}`}
          {...{ cell, value, orb, managed }}
          onChange={draft.setValue}
          onFault={draft.setFault}
        />
      )}
      <Checkbox label={t("table.valueEmpty")} checked={empty} onChange={draft.setEmpty} />
      {mayPublish ? (
        <Checkbox label={t("table.valuePublish")} checked={draft.publish} onChange={draft.setPublish} />
      ) : null}
    </form>
  );
}

export function SetValueDialog(props: SetValueProps) {
  const { items, place, orb, publishable, nameOf, linkOf, onClose } = props;
  const form = useId();
  const draft = useDraft(props);
  const { count, total, failed, run, stop } = useChange(props, draft.cell);
  const fitting = items.filter(({ status }) => status !== "ARCHIVED");
  const skipped = items.length - fitting.length;
  const mayPublish =
    publishable &&
    place.change === undefined &&
    fitting.some((item) => item.status === "PUBLISHED" && item.publishedRevision === item.revision);
  const ready = draft.ready && fitting.length > 0;
  const running = total > 0;
  const cancel = () => (running ? stop() : onClose());
  const wrong = failed?.id === undefined ? undefined : items.find(({ id }) => id === failed.id);
  const submit = () => {
    const ids = fitting.map(({ id }) => id);
    if (ready && !running) void run(ids, draft.empty ? null : draft.value, draft.publish && mayPublish);
  };
  return (
    <Dialog
      title={t("table.valueTitle", { count: items.length })}
      busy={running}
      onClose={cancel}
      actions={
        <>
          <Button onClick={cancel}>{running ? t("table.stop") : t("ui.cancel")}</Button>
          {running ? null : (
            <Button type="submit" kind="primary" form={form} disabled={!ready}>
              {t("table.valueAction", { count: fitting.length })}
            </Button>
          )}
        </>
      }
    >
      {draft.field === undefined ? (
        <p>{t("table.valueNone")}</p>
      ) : (
        <DraftForm id={form} {...{ draft, orb, mayPublish }} managed={place.managed} onSubmit={submit} />
      )}
      {skipped === 0 ? null : <p class="hint">{t("table.skipped", { count: skipped })}</p>}
      {running ? (
        <Progress done={count / total} label={t("table.progress", { done: count, total })} />
      ) : failed === undefined ? (
        <p class="hint">{t("table.valueTogether")}</p>
      ) : (
        <ProblemBox error={failed.reason}>
          {wrong === undefined ? null : <Link to={linkOf(wrong.id)}>{nameOf(wrong)}</Link>}
          <p>{t("table.valueRefused")}</p>
        </ProblemBox>
      )}
    </Dialog>
  );
}
