/** A button that deletes the entries that an import has created. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryPlace, Made } from "../../../api/entries.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { wordsOf } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { undoImport } from "./import.ts";

export function UndoImport({
  place,
  made,
  scope,
  onDone,
}: {
  place: EntryPlace;
  made: readonly Made[];
  /** Identifies the file. */
  scope: string;
  /** Called when entries were deleted. */
  onDone: () => void;
}) {
  const [done, setDone] = useState<number>();
  const [failed, setFailed] = useState<readonly unknown[]>();
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const total = made.length;
  const run = async () => {
    setDone(0);
    const { signal } = abort.current;
    setFailed(await undoImport(place, made, { scope, signal, onDone: setDone }));
    onDone();
  };
  if (failed !== undefined)
    return (
      <>
        <p role="status">{t("table.importUndone", { count: total - failed.length })}</p>
        {failed.length === 0 ? null : (
          <p>{t("table.importKept", { count: failed.length, reason: wordsOf(failed[0]) })}</p>
        )}
      </>
    );
  if (done !== undefined)
    return <Progress done={done / total} label={t("table.progress", { done, total })} />;
  return (
    <Button icon="undo" onClick={() => void run()}>
      {t("table.importUndo", { count: total })}
    </Button>
  );
}
