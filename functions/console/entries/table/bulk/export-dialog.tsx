/** A dialog in which the user chooses the format of an export. It then shows the progress of the export. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryPlace } from "../../../api/entries.ts";
import type { OrbModel, SchemaModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { say } from "../../../ui/toast.tsx";
import { collectFile, download, type Format, formatOf, readAll } from "./export.ts";

export function ExportDialog({
  place,
  schema,
  orb,
  query,
  ids,
  total,
  onClose,
}: {
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  /** The conditions and the sort order of the list. */
  query: URLSearchParams;
  /** Ids of the entries to export; undefined exports the whole list. */
  ids: readonly string[] | undefined;
  /** Number of entries, if it is known. */
  total: number | undefined;
  onClose: () => void;
}) {
  const [format, setFormat] = useState<Format>("csv");
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const all = ids?.length ?? total;
  const run = async () => {
    setError(undefined);
    setCount(0);
    abort.current = new AbortController();
    try {
      let written = 0;
      const pages = readAll(place, query, abort.current.signal, ids);
      const file = await collectFile(pages, formatOf(format, schema, orb), (done) => {
        written = done;
        setCount(done);
      });
      download(file, `${orb.id}-${place.module}-${schema.id}.${format}`);
      onClose();
      say(t("table.exported", { count: written }));
    } catch (reason) {
      setCount(undefined);
      if (!abort.current.signal.aborted) setError(reason);
    }
  };
  const running = count !== undefined;
  return (
    <Dialog
      title={all === undefined ? t("table.exportAll") : t("table.exportTitle", { count: all })}
      busy={running}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          {running ? null : (
            <Button kind="primary" icon="download" onClick={() => void run()}>
              {t("table.export")}
            </Button>
          )}
        </>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      {running ? (
        <Progress
          done={all === undefined || all === 0 ? undefined : count / all}
          label={t("table.exporting", { count })}
        />
      ) : (
        <fieldset class="options">
          <legend>{t("table.format")}</legend>
          {(["csv", "ndjson"] as const).map((one) => (
            <label class="check" key={one}>
              <input type="radio" name="format" checked={format === one} onChange={() => setFormat(one)} />
              <span>
                {t(`table.${one}`)}
                <span class="hint"> {t(`table.${one}Hint`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </Dialog>
  );
}
