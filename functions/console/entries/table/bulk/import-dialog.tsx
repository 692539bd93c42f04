/** Creates entries from a file, and reports those that failed. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryPlace } from "../../../api/entries.ts";
import type { SchemaModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Checkbox, Field } from "../../../ui/form.tsx";
import { faultsOf, ProblemBox, wordsOf } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { createAll, type Failure, type Line, readLines } from "./import.ts";

/** Maximum number of failures that the dialog lists. */
const LISTED = 200;

const reasonOf = (error: unknown): string => {
  const faults = faultsOf(error);
  return faults.length === 0
    ? wordsOf(error)
    : faults.map(({ path, message }) => `${path} ${message}`).join("; ");
};

export function ImportDialog({
  place,
  schema,
  publishable,
  onClose,
  onDone,
}: {
  place: EntryPlace;
  schema: SchemaModel;
  /** Whether the caller may publish. */
  publishable: boolean;
  onClose: () => void;
  /** Called when entries were created. */
  onDone: () => void;
}) {
  const [lines, setLines] = useState<readonly Line[]>();
  const [publish, setPublish] = useState(false);
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const [result, setResult] = useState<{ created: number; failed: readonly Failure[] }>();
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const choose = async (file: File | undefined) => {
    setError(undefined);
    setLines(undefined);
    if (file === undefined) return;
    const sensitive = schema.fields.filter((field) => field.sensitive === true).map(({ name }) => name);
    try {
      setLines(readLines(await file.text(), new Set(sensitive)));
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
    setResult({ created: done - failed.length, failed });
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
            <>
              <h3>{t("table.failedTitle", { count: result.failed.length })}</h3>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the list. */}
              <ul class="failures" tabIndex={0} aria-label={t("table.failures")}>
                {result.failed.slice(0, LISTED).map((one) => (
                  <li key={one.number}>
                    <span>{t("table.importLine", { number: one.number })}</span>
                    <span>{reasonOf(one.error)}</span>
                  </li>
                ))}
                {result.failed.length > LISTED ? (
                  <li class="hint">{t("table.moreFailures", { count: result.failed.length - LISTED })}</li>
                ) : null}
              </ul>
            </>
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
                accept=".ndjson,.jsonl,.json"
                onChange={(event) => void choose(event.currentTarget.files?.[0])}
              />
            )}
          </Field>
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
