/** The review before publishing. It shows the changes, and their effects on stored entries. */
import { useEffect, useState } from "preact/hooks";
import { differencesIn } from "../../../shared/differences/named.ts";
import { checkOrb } from "../api/documents.ts";
import type { DryRun } from "../api/orbs.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox } from "../ui/form.tsx";
import { faultsOf, ProblemBox } from "../ui/problem.tsx";
import { Loading } from "../ui/states.tsx";
import { say } from "../ui/toast.tsx";
import { type Editor, printed } from "./document/editor.ts";
import type { JsonObject } from "./document/pointer.ts";
import { canForce, Effects } from "./effects.tsx";
import { useBefore } from "./form/published.ts";
import { JsonDiff } from "./json-diff.tsx";
import { Changes, wordsOf } from "./words.tsx";

type Result = { effects: DryRun } | { error: unknown } | undefined;

/** Repeats the dry run, because entries and other drafts may have changed since the last one. */
function useEffects(editor: Editor, force: boolean): Result {
  const [result, setResult] = useState<Result>();
  useEffect(() => {
    const abort = new AbortController();
    const { revision } = editor.base.value.state;
    setResult(undefined);
    const { change } = editor;
    const how = change === undefined ? { publish: true } : { change };
    const options = { revision, ...how, force, signal: abort.signal };
    checkOrb(editor.orb, editor.document.value, options).then(
      (effects) => setResult({ effects }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setResult({ error });
        // The form behind the dialog must mark the invalid fields, too.
        editor.faults.value = faultsOf(error);
      },
    );
    return () => abort.abort();
  }, [force]);
  return result;
}

type Work = "save" | "publish";

/** Saves the draft, and publishes it if asked to. */
function useSave(editor: Editor, force: boolean, onClose: () => void) {
  const [busy, setBusy] = useState<Work>();
  const [error, setError] = useState<unknown>();
  const run = async (work: Work) => {
    setBusy(work);
    setError(undefined);
    try {
      await editor.save({ publish: work === "publish", force });
      const saved = editor.change === undefined ? "schema.saved" : "schema.savedInSet";
      say(t(work === "publish" ? "schema.published" : saved));
      onClose();
    } catch (reason) {
      if (editor.theirs.value !== undefined) onClose();
      setError(reason);
    } finally {
      setBusy(undefined);
    }
  };
  return { busy, error, run };
}

/** The differences in words. */
function Differences({
  before,
  live,
  changes,
  first,
}: {
  before: JsonObject | undefined;
  live: ReturnType<typeof useBefore>["live"];
  changes: readonly ReturnType<typeof wordsOf>[];
  /** Whether the document was never published. */
  first: boolean;
}) {
  if (before === undefined)
    return live.error === undefined ? (
      <Loading />
    ) : (
      <ProblemBox error={live.error} retry={() => void live.reload()} />
    );
  if (changes.length > 0) return <Changes of={changes} />;
  return <p class="hint">{t(first ? "schema.changesNoneFirst" : "schema.changesNone")}</p>;
}

function Checked({ result, orb }: { result: Result; orb: string }) {
  if (result === undefined) return <Loading text={t("schema.checking")} />;
  return "error" in result ? <ProblemBox error={result.error} /> : <Effects of={result.effects} orb={orb} />;
}

/** The buttons that save and publish. Within a change set, the document is published with the set. */
function Steps({
  editor,
  busy,
  ready,
  first,
  canSave,
  run,
}: {
  editor: Editor;
  busy: Work | undefined;
  /** Whether the publication would succeed. */
  ready: boolean;
  /** Whether the document was never published. */
  first: boolean;
  /** Whether there is something valid to save into a change set. */
  canSave: boolean;
  run: (work: Work) => Promise<void>;
}) {
  if (editor.change !== undefined)
    return (
      <Button
        kind="primary"
        busy={busy === "save"}
        disabled={!canSave || busy !== undefined}
        onClick={() => void run("save")}
      >
        {t("entry.saveInSet")}
      </Button>
    );
  return (
    <>
      {editor.dirty.value ? (
        <Button
          busy={busy === "save"}
          disabled={busy === "publish" || (first && !ready)}
          onClick={() => void run("save")}
        >
          {t("schema.save")}
        </Button>
      ) : null}
      <Button
        kind="primary"
        icon="upload"
        busy={busy === "publish"}
        disabled={!ready}
        onClick={() => void run("publish")}
      >
        {t("schema.publish")}
      </Button>
    </>
  );
}

export function Review({ editor, onClose }: { editor: Editor; onClose: () => void }) {
  const [force, setForce] = useState(false);
  const { busy, error, run } = useSave(editor, force, onClose);
  const result = useEffects(editor, force);
  const { live, before } = useBefore(editor);
  const { publishedRevision } = editor.base.value.state;
  const first = publishedRevision === null;
  const now = editor.document.value;
  const changes = before === undefined ? [] : differencesIn(before, now).map(wordsOf);
  const effects = result !== undefined && "effects" in result ? result.effects : undefined;
  const needsForce = effects !== undefined && (force || canForce(effects));
  const ready = effects !== undefined && !effects.refused && busy === undefined;
  const isInSet = editor.change !== undefined;
  return (
    <Dialog
      title={t(isInSet ? "schema.reviewInSet" : "schema.review")}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Steps
            {...{ editor, busy, ready, first, run }}
            canSave={effects !== undefined && (editor.dirty.value || force)}
          />
        </>
      }
    >
      <div class="review">
        <p class="hint">
          {first ? t("schema.reviewFirst") : t("schema.reviewAgainst", { revision: publishedRevision })}
        </p>
        {error === undefined ? null : <ProblemBox error={error} />}
        <section>
          <h3>{t("schema.changes")}</h3>
          <Differences {...{ before, live, changes, first }} />
        </section>
        <section>
          <h3>{t("schema.effects")}</h3>
          <Checked result={result} orb={editor.orb} />
          {needsForce ? (
            <Checkbox
              label={t("effect.force")}
              hint={t("effect.forceHint")}
              checked={force}
              onChange={setForce}
            />
          ) : null}
        </section>
        {before === undefined || changes.length === 0 ? null : (
          <details>
            <summary>{t("schema.asJson")}</summary>
            <JsonDiff label={t("schema.asJson")} from={printed(before)} to={printed(now)} />
          </details>
        )}
      </div>
    </Dialog>
  );
}
