/** Confirms a bulk change, shows its progress, and lists the entries that failed. */
import { useRef, useState } from "preact/hooks";
import { isProblem } from "../../../../../shared/client/problem.ts";
import type { EntryPlace } from "../../../api/entries.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Link } from "../../../ui/link.tsx";
import { wordsOf } from "../../../ui/problem.tsx";
import { Progress } from "../../../ui/states.tsx";
import { say } from "../../../ui/toast.tsx";
import type { Row } from "../data/rows.ts";
import { type Act, allows, type Outcome, runBulk } from "./bulk.ts";

/** Maximum number of failures that the dialog lists. */
const LISTED = 200;

export interface BulkTask {
  act: Act;
  items: readonly Row[];
}

/** Returns the action that undoes a bulk action; undefined if the entries had different states before. */
function inverse(act: Act, items: readonly Row[]): Act | undefined {
  if (act === "publish" && items.every(({ publishedRevision }) => publishedRevision === null))
    return "unpublish";
  if (act === "unpublish" && items.every((item) => item.publishedRevision === item.revision))
    return "publish";
  if (act === "archive" && items.every(({ status }) => status === "UNPUBLISHED")) return "restore";
  return undefined;
}

interface BulkProps {
  task: BulkTask;
  place: EntryPlace;
  nameOf: (item: Row) => string;
  linkOf: (id: string) => string;
  /** Receives the changed entries. */
  onDone: (outcome: Outcome) => void;
  onClose: () => void;
}

/** Says that the change is done, and offers to undo it if that is possible. */
function sayDone(
  { task: { act }, place, onDone }: BulkProps,
  before: readonly Row[],
  { changed }: Outcome,
): void {
  if (place.change !== undefined) {
    say(t("table.inSetDone", { count: changed.size }));
    return;
  }
  const back = inverse(act, before);
  const now = [...changed.values()].filter((item) => item !== undefined);
  const undo = async (how: Act) => {
    const { signal } = new AbortController();
    const undone = await runBulk(place, how, now, { force: false, signal, tell: () => undefined });
    onDone(undone);
    say(t("table.undone", { count: undone.changed.size }));
  };
  say(
    t(`table.${act}Done`, { count: changed.size }),
    back === undefined || now.length === 0
      ? undefined
      : { label: t("table.undo"), run: () => void undo(back) },
  );
}

/** Runs the change, and follows its progress. `total` is 0 until it begins. */
function useBulk(props: BulkProps) {
  const { task, place, onDone, onClose } = props;
  const [done, setDone] = useState(0);
  const [total, setTotal] = useState(0);
  const [outcome, setOutcome] = useState<Outcome>();
  const abort = useRef<AbortController>();
  const run = async (some: readonly Row[], force: boolean) => {
    abort.current = new AbortController();
    setOutcome(undefined);
    setTotal(some.length);
    setDone(0);
    let drawn = 0;
    const result = await runBulk(place, task.act, some, {
      force,
      signal: abort.current.signal,
      tell: ({ changed, failed }) => {
        // Draw the progress at most ten times a second.
        if (performance.now() - drawn < 100) return;
        drawn = performance.now();
        setDone(changed.size + failed.length);
      },
    });
    onDone(result);
    if (result.failed.length > 0 || result.left.length > 0) {
      setOutcome(result);
      return;
    }
    onClose();
    sayDone(props, some, result);
  };
  return { done, total, outcome, run, stop: () => abort.current?.abort() };
}

export function BulkDialog(props: BulkProps) {
  const { task, place, nameOf, linkOf, onClose } = props;
  const { act, items } = task;
  const { done, total, outcome, run, stop } = useBulk(props);
  const fitting = items.filter((item) => allows(act, item, place.change !== undefined));
  const skipped = items.length - fitting.length;
  const count = fitting.length;
  if (outcome !== undefined)
    return (
      <Results
        {...{ act, outcome, nameOf, linkOf, onClose }}
        again={(some, force) => void run(some, force)}
      />
    );
  const running = total > 0;
  const cancel = () => (running ? stop() : onClose());
  return (
    <Dialog
      title={t(`table.${act}Title`, { count: running ? total : count })}
      busy={running}
      onClose={cancel}
      actions={
        <>
          <Button onClick={cancel}>{running ? t("table.stop") : t("ui.cancel")}</Button>
          {running ? null : (
            <Button
              kind={act === "delete" ? "danger" : "primary"}
              disabled={count === 0}
              onClick={() => void run(fitting, false)}
            >
              {t(`table.${act}Action`, { count })}
            </Button>
          )}
        </>
      }
    >
      <div class="dialog-text">
        {running ? (
          <Progress done={done / total} label={t("table.progress", { done, total })} />
        ) : (
          <>
            <p>{t(place.change === undefined ? `table.${act}Text` : "table.inSetText")}</p>
            {skipped === 0 ? null : <p class="hint">{t("table.skipped", { count: skipped })}</p>}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Returns the reason why the change of an entry failed, in plain language without API terms. */
function reasonOf(error: unknown): string {
  if (isProblem(error, "referenced")) {
    const { total, totalExact } = error.body;
    if (typeof total !== "number" || total === 0) return t("table.referenced");
    return t(totalExact === false ? "table.referencedMore" : "table.referencedBy", { count: total });
  }
  if (isProblem(error, "revision_mismatch")) return t("table.changedMeanwhile");
  const faults = isProblem(error) ? error.errors.map(({ path, message }) => `${path} ${message}`) : [];
  return [wordsOf(error), ...faults].join(" ");
}

function Results({
  act,
  outcome: { changed, failed, left },
  nameOf,
  linkOf,
  again,
  onClose,
}: {
  act: Act;
  outcome: Outcome;
  nameOf: (item: Row) => string;
  linkOf: (id: string) => string;
  again: (items: readonly Row[], force: boolean) => void;
  onClose: () => void;
}) {
  const referenced = failed.filter(({ error }) => isProblem(error, "referenced")).map(({ item }) => item);
  return (
    <Dialog
      title={failed.length === 0 ? t("table.stopped") : t("table.failedTitle", { count: failed.length })}
      onClose={onClose}
      wide
      actions={
        <>
          {left.length === 0 ? null : (
            <Button onClick={() => again(left, false)}>{t("table.goOn", { count: left.length })}</Button>
          )}
          {referenced.length === 0 ? null : (
            <Button kind="danger" onClick={() => again(referenced, true)}>
              {t(act === "archive" ? "table.forceArchive" : "table.forceDelete", {
                count: referenced.length,
              })}
            </Button>
          )}
          <Button kind="primary" onClick={onClose}>
            {t("ui.close")}
          </Button>
        </>
      }
    >
      <p class="hint">
        {changed.size === 0 ? "" : t(`table.${act}Done`, { count: changed.size })}
        {left.length === 0 ? "" : ` ${t("table.left", { count: left.length })}`}
      </p>
      {failed.length === 0 ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the list.
        <ul class="failures" tabIndex={0} aria-label={t("table.failures")}>
          {failed.slice(0, LISTED).map(({ item, error }) => (
            <li key={item.id}>
              <Link to={linkOf(item.id)}>{nameOf(item)}</Link>
              <span>{reasonOf(error)}</span>
            </li>
          ))}
          {failed.length > LISTED ? (
            <li class="hint">{t("table.moreFailures", { count: failed.length - LISTED })}</li>
          ) : null}
        </ul>
      )}
    </Dialog>
  );
}
