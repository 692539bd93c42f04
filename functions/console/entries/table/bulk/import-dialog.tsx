/** A dialog that creates entries from a file, and lists the entries that could not be created. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EntryPlace } from "../../../api/entries.ts";
import { type Cell, cellsOf, windowCells } from "../../../model/cells.ts";
import type { OrbModel, SchemaModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Checkbox, Field } from "../../../ui/form.tsx";
import { faultsOf, ProblemBox, wordsOf } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { entriesOf, guess, readSheet, type Sheet } from "./csv.ts";
import { createAll, type Failure, type Line, readLines } from "./import.ts";
import { ImportColumns } from "./import-columns.tsx";

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

export function ImportDialog({
  place,
  schema,
  orb,
  publishable,
  onClose,
  onDone,
}: {
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  /** Whether the caller may publish. */
  publishable: boolean;
  onClose: () => void;
  /** Called when entries were created. */
  onDone: () => void;
}) {
  const [listed, setListed] = useState<readonly Line[]>();
  /** A CSV file. `columns` says which cell of an entry each column contains. */
  const [table, setTable] = useState<{ sheet: Sheet; columns: readonly (Cell | undefined)[] }>();
  const [publish, setPublish] = useState(false);
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const [result, setResult] = useState<{ created: number; failed: readonly Failure[] }>();
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const cells = [
    ...cellsOf(schema, orb).filter(({ field }) => field.type !== "file"),
    ...windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") }),
  ];
  const read = useMemo(() => table && entriesOf(table.sheet, table.columns), [table]);
  const lines = read?.lines ?? listed;
  const faults = read?.faults ?? [];
  const choose = async (file: File | undefined) => {
    setError(undefined);
    setListed(undefined);
    setTable(undefined);
    if (file === undefined) return;
    const sensitive = schema.fields.filter((field) => field.sensitive === true).map(({ name }) => name);
    try {
      const text = await file.text();
      if (!/^\s*[[{]/.test(text)) {
        const sheet = readSheet(text);
        setTable({ sheet, columns: guess(sheet, cells) });
      } else setListed(readLines(text, new Set(sensitive)));
    } catch (reason) {
      setError(reason);
    }
  };
  const run = async (all: readonly Line[]) => {
    let done = 0;
    setCount(0);
    const onCount = (next: number) => {
      done = next;
      setCount(next);
    };
    const failed = await createAll(place, all, { publish, signal: abort.current.signal, onDone: onCount });
    setCount(undefined);
    setResult({
      created: done - failed.length,
      failed: [...faults, ...failed].sort((a, b) => a.number - b.number),
    });
    onDone();
  };
  const total = lines?.length ?? 0;
  return (
    <Dialog
      title={t("table.importTitle")}
      onClose={onClose}
      actions={
        result !== undefined ? (
          <Button kind="primary" onClick={onClose}>
            {t("ui.close")}
          </Button>
        ) : count !== undefined ? (
          <Button onClick={() => abort.current.abort()}>{t("table.stop")}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{t("ui.cancel")}</Button>
            <Button
              kind="primary"
              icon="upload"
              disabled={total === 0}
              onClick={() => lines !== undefined && void run(lines)}
            >
              {t("table.importAction", { count: total })}
            </Button>
          </>
        )
      }
    >
      {result !== undefined ? (
        <>
          <p role="status">{t("table.imported", { count: result.created })}</p>
          {result.failed.length === 0 ? null : (
            <Failures of={result.failed} title={t("table.failedTitle", { count: result.failed.length })} />
          )}
        </>
      ) : count !== undefined ? (
        <Progress done={count / total} label={t("table.progress", { done: count, total })} />
      ) : (
        <>
          {error === undefined ? null : <ProblemBox error={error} />}
          <Field label={t("table.importFile")} hint={t("table.importHint")}>
            {(attributes) => (
              <input
                {...attributes}
                type="file"
                accept=".csv,.tsv,.ndjson,.jsonl,.json"
                onChange={(event) => void choose(event.currentTarget.files?.[0])}
              />
            )}
          </Field>
          {table === undefined ? null : (
            <ImportColumns {...table} cells={cells} onChange={(columns) => setTable({ ...table, columns })} />
          )}
          {faults.length === 0 ? null : (
            <Failures of={faults} title={t("table.importFaults", { count: faults.length })} />
          )}
          {publishable ? (
            <div class="field">
              <Checkbox label={t("table.importPublish")} checked={publish} onChange={setPublish} />
            </div>
          ) : null}
        </>
      )}
    </Dialog>
  );
}
