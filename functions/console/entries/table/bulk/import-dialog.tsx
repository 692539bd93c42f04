/** A dialog that creates entries from a file, and lists the entries that could not be created. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { newKey } from "../../../../../shared/client/transport.ts";
import { RowFault } from "../../../../../shared/rows/fault.ts";
import type { Row } from "../../../../../shared/rows/row.ts";
import type { EntryPlace } from "../../../api/entries.ts";
import { type Cell, tableCells, windowCells } from "../../../model/cells.ts";
import { type FieldModel, labelOf, type OrbModel, type SchemaModel } from "../../../model/orb.ts";
import { t, withCommas } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Checkbox, Field, SelectField } from "../../../ui/form.tsx";
import { faultsOf, ProblemBox, wordsOf } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { entriesOf, guess, readSheet, type Sheet } from "./csv.ts";
import { rowFields } from "./export.ts";
import { createAll, type Failure, type Imported, isJson, readLines, textIn, wordsOfFault } from "./import.ts";
import { ImportColumns } from "./import-columns.tsx";
import { UndoImport } from "./undo-import.tsx";

/** Maximum number of failures that the dialog lists. */
const LISTED = 200;

const reasonOf = (error: unknown): string => {
  const faults = faultsOf(error);
  return faults.length === 0
    ? wordsOf(error)
    : faults.map(({ path, message }) => `${path} ${message}`).join("; ");
};

function Failures({ of, title }: { of: readonly Failure[]; title: string }) {
  return (
    <>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the list. */}
      <ul class="failures" tabIndex={0} aria-label={t("table.failures")}>
        {of.slice(0, LISTED).map((one) => (
          <li key={one.number}>
            <span>{t("table.importLine", { number: one.number })}</span>
            <span>{reasonOf(one.error)}</span>
          </li>
        ))}
        {of.length > LISTED ? (
          <li class="hint">{t("table.moreFailures", { count: of.length - LISTED })}</li>
        ) : null}
      </ul>
    </>
  );
}

const NO_MATCH = "";

/** Asks by which unique field rows belong to existing entries. Shows nothing if the schema has no such field. */
function MatchField({
  fields,
  match,
  onChange,
}: {
  fields: readonly FieldModel[];
  match: string | undefined;
  onChange: (match: string | undefined) => void;
}) {
  const keys = fields.filter(
    ({ unique, sensitive, translatable, marketSpecific }) =>
      unique === true && sensitive !== true && translatable !== true && marketSpecific !== true,
  );
  if (keys.length === 0) return null;
  return (
    <SelectField
      label={t("table.importMatch")}
      hint={match === undefined ? undefined : t("table.importMatchHint")}
      value={match ?? NO_MATCH}
      options={[
        { value: NO_MATCH, label: t("table.importMatchNone") },
        ...keys.map((field) => ({
          value: field.name,
          label: t("table.importMatchBy", { field: labelOf(field) }),
        })),
      ]}
      onChange={(value) => onChange(value === NO_MATCH ? undefined : value)}
    />
  );
}

interface ImportProps {
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  /** Whether the caller may publish. */
  publishable: boolean;
  onClose: () => void;
  /** Called when entries were created. */
  onDone: () => void;
}

/** A CSV file. `columns` says which cell of an entry each column contains. */
interface Table {
  sheet: Sheet;
  columns: readonly (Cell | undefined)[];
}

/** Reads the chosen file: JSON lines at once, and a table by the columns that the user chooses. */
function useFile({ schema, orb }: ImportProps, match: string | undefined) {
  /** The rows of a JSON file, as new entries and as changes of existing ones. */
  const [listed, setListed] = useState<Record<"fresh" | "matched", Awaited<ReturnType<typeof readLines>>>>();
  const [name, setName] = useState("");
  const [table, setTable] = useState<Table>();
  const [error, setError] = useState<unknown>();
  const cells = [
    ...tableCells(schema.fields, orb),
    ...windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") }),
  ];
  const clears = match !== undefined;
  const read = useMemo(
    () => table && entriesOf(table.sheet, table.columns, { orb, clears }),
    [table, clears],
  );
  const rows = read ?? listed?.[clears ? "matched" : "fresh"];
  const choose = async (file: File | undefined) => {
    setError(undefined);
    setListed(undefined);
    setTable(undefined);
    if (file === undefined) return;
    setName(file.name);
    try {
      if (await isJson(file)) {
        const fields = rowFields(schema.fields, orb);
        const linesOf = (matched: boolean) => readLines(textIn(file), { fields, matched });
        setListed({ fresh: await linesOf(false), matched: await linesOf(true) });
      } else {
        const sheet = await readSheet(textIn(file), /\.tsv$/i.test(file.name) ? "\t" : undefined);
        setTable({ sheet, columns: guess(sheet, cells) });
      }
    } catch (reason) {
      setError(reason instanceof RowFault ? new Error(wordsOfFault(reason)) : reason);
    }
  };
  const faults = (read?.faults ?? []).map(
    ({ line, message }): Failure => ({ number: line, error: new Error(message) }),
  );
  return {
    ...{ name, table, setTable, cells, error, choose, faults },
    lines: rows?.lines,
    masked: rows?.masked ?? [],
  };
}

type ChosenFile = ReturnType<typeof useFile>;

interface Choices {
  publish: boolean;
  /** The unique field by which rows belong to existing entries. */
  match: string | undefined;
}

/** Creates the entries. `count` is the number of finished rows while that is running. */
function useImport({ place, onDone }: ImportProps, { faults }: ChosenFile, choices: Choices) {
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const [result, setResult] = useState<Imported>();
  /** Identifies the import that ran last. */
  const [scope, setScope] = useState("");
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const run = async (all: readonly Row[], named: string) => {
    setCount(0);
    setError(undefined);
    setResult(undefined);
    setScope(named);
    try {
      const { signal } = abort.current;
      const made = await createAll(place, all, { ...choices, scope: named, signal, onDone: setCount });
      setResult({ ...made, failed: [...faults, ...made.failed].sort((a, b) => a.number - b.number) });
    } catch (reason) {
      setError(reason);
    }
    setCount(undefined);
    onDone();
  };
  return {
    ...{ count, error, result, scope, run },
    stop: () => abort.current.abort(),
    forget: () => setError(undefined),
  };
}

/** Says what the import did. @param again imports rows once more that an earlier import had created */
function Result({ of, match, again }: { of: Imported; match: string | undefined; again: () => void }) {
  return (
    <>
      <p role="status">{t("table.imported", { count: of.created })}</p>
      {of.updated === 0 ? null : <p>{t("table.importChanged", { count: of.updated })}</p>}
      {match === undefined || of.stored === 0 ? null : (
        <p>{t("table.importUnchanged", { count: of.stored })}</p>
      )}
      {match !== undefined || of.stored === 0 ? null : (
        <>
          <p>{t("table.importStored", { count: of.stored })}</p>
          <Button onClick={again}>{t("table.importAgain")}</Button>
        </>
      )}
      {of.failed.length === 0 ? null : (
        <Failures of={of.failed} title={t("table.failedTitle", { count: of.failed.length })} />
      )}
    </>
  );
}

/** The file, and what to do with its rows. */
function Inputs({
  file,
  error,
  fields,
  publishable,
  choices,
  onChoose,
  onChange,
}: {
  file: ChosenFile;
  error: unknown;
  fields: readonly FieldModel[];
  publishable: boolean;
  choices: Choices;
  onChoose: (file: File | undefined) => void;
  onChange: (choices: Choices) => void;
}) {
  const { table, setTable, cells, faults, masked } = file;
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} />}
      <Field label={t("table.importFile")} hint={t("table.importHint")}>
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".csv,.tsv,.ndjson,.jsonl,.json"
            onChange={(event) => onChoose(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      {table === undefined ? null : (
        <ImportColumns {...table} cells={cells} onChange={(columns) => setTable({ ...table, columns })} />
      )}
      {faults.length === 0 ? null : (
        <Failures of={faults} title={t("table.importFaults", { count: faults.length })} />
      )}
      {masked.length === 0 ? null : (
        <p class="hint">{t("table.importMasked", { names: withCommas(masked) })}</p>
      )}
      <MatchField
        fields={fields}
        match={choices.match}
        onChange={(match) => onChange({ ...choices, match })}
      />
      {publishable ? (
        <div class="field">
          <Checkbox
            label={t("table.importPublish")}
            checked={choices.publish}
            onChange={(publish) => onChange({ ...choices, publish })}
          />
        </div>
      ) : null}
    </>
  );
}

export function ImportDialog(props: ImportProps) {
  const { schema, publishable, onClose } = props;
  const [choices, setChoices] = useState<Choices>({ publish: false, match: undefined });
  const file = useFile(props, choices.match);
  const { count, error, result, scope, run, stop, forget } = useImport(props, file, choices);
  const { lines = [], name } = file;
  const total = lines.length;
  const running = count !== undefined;
  return (
    <Dialog
      title={t("table.importTitle")}
      busy={running}
      onClose={onClose}
      actions={
        result !== undefined ? (
          <Button kind="primary" onClick={onClose}>
            {t("ui.close")}
          </Button>
        ) : running ? (
          <Button onClick={stop}>{t("table.stop")}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{t("ui.cancel")}</Button>
            <Button kind="primary" icon="upload" disabled={total === 0} onClick={() => void run(lines, name)}>
              {t("table.importAction", { count: total })}
            </Button>
          </>
        )
      }
    >
      {result !== undefined ? (
        <>
          <Result of={result} match={choices.match} again={() => void run(lines, `${name} ${newKey()}`)} />
          {result.made.length === 0 ? null : (
            <UndoImport place={props.place} made={result.made} scope={scope} onDone={props.onDone} />
          )}
        </>
      ) : running ? (
        <Progress done={count / total} label={t("table.progress", { done: count, total })} />
      ) : (
        <Inputs
          {...{ file, publishable, choices }}
          error={file.error ?? error}
          fields={schema.fields}
          onChoose={(chosen) => {
            forget();
            void file.choose(chosen);
          }}
          onChange={setChoices}
        />
      )}
    </Dialog>
  );
}
