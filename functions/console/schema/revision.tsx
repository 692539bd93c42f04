/** Shows what a revision of an application's document changed, and lets the user restore it. */
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { checkRestore, type Revision, readRevision, restoreRevision } from "../api/documents.ts";
import type { DryRun } from "../api/orbs.ts";
import { orbLink } from "../shell/nav.ts";
import { keep, refresh } from "../state/cache.ts";
import { useLoad } from "../state/load.ts";
import { has, t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/form.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { complain, say } from "../ui/toast.tsx";
import { printed } from "./document/editor.ts";
import { Effects } from "./effects.tsx";
import { JsonDiff } from "./json-diff.tsx";
import { Changes, toneOf } from "./words.tsx";

export const operationOf = (operation: string): string =>
  has(`operation.${operation}`) ? t(`operation.${operation}` as Parameters<typeof t>[0]) : operation;

/** Asks the user before restoring a revision as the newest draft, and explains the effects. */
function Restore({
  orb,
  revision,
  effects,
  onClose,
  onRun,
}: {
  orb: string;
  revision: number;
  effects: DryRun;
  onClose: () => void;
  onRun: () => Promise<void>;
}) {
  const [busy, setBusy] = useState(false);
  return (
    <Dialog
      title={t("revisions.restoreTitle", { revision: String(revision) })}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button
            kind="primary"
            busy={busy}
            disabled={effects.summary.length === 0}
            onClick={() => {
              setBusy(true);
              void onRun().finally(() => setBusy(false));
            }}
          >
            {t("revisions.restore")}
          </Button>
        </>
      }
    >
      <div class="review">
        <p class="hint">{t("revisions.restoreText")}</p>
        <section>
          <h3>{t("schema.changes")}</h3>
          {effects.summary.length === 0 ? (
            <p class="hint">{t("revisions.same")}</p>
          ) : (
            <Changes of={effects.summary.map(toneOf)} />
          )}
        </section>
        <section>
          <h3>{t("revisions.effects")}</h3>
          <Effects of={effects} orb={orb} />
        </section>
      </div>
    </Dialog>
  );
}

interface DetailProps {
  orb: string;
  shown: number;
  /** The revision to compare with; undefined for the one before. */
  against: number | undefined;
  others: readonly number[];
  newest: number;
  /** Name of the user who made the revision. */
  name: string;
  onAgainst: (revision: number | undefined) => void;
}

/** Asks the platform what restoring a revision would do, and restores it. */
function useRestore({ orb, shown, newest }: DetailProps) {
  const [, navigate] = useLocation();
  const [asked, setAsked] = useState<DryRun>();
  return {
    asked,
    ask: () => checkRestore(orb, shown, newest).then(setAsked, complain),
    close: () => setAsked(undefined),
    async restore() {
      try {
        keep(`document/${orb}`, await restoreRevision(orb, shown, newest));
        setAsked(undefined);
        refresh("orbs");
        say(t("revisions.restored", { revision: String(shown) }));
        navigate(orbLink(orb, "schema"));
      } catch (error) {
        complain(error);
        refresh(`document/${orb}`);
        refresh(`history/${orb}`);
      }
    },
  };
}

function Head({
  revision,
  props: { shown, newest, name },
  onRestore,
}: {
  revision: Revision;
  props: DetailProps;
  onRestore: () => void;
}) {
  return (
    <header>
      <div>
        <h2>{t("revisions.revision", { revision: String(shown) })}</h2>
        <p class="hint">
          {operationOf(revision.operation)} · {name} · <Time at={revision.at} />
        </p>
      </div>
      <span class="page-actions">
        {revision.document === null ? null : <CopyButton text={printed(revision.document)} />}
        {revision.document === null || shown === newest ? null : (
          <Button icon="history" onClick={onRestore}>
            {t("revisions.restore")}
          </Button>
        )}
      </span>
    </header>
  );
}

function Against({ shown, against, others, onAgainst }: DetailProps) {
  const labelOf = (revision: number) => t("revisions.revision", { revision: String(revision) });
  return (
    <SelectField
      label={t("revisions.against")}
      value={against === undefined ? "" : String(against)}
      onChange={(next) => onAgainst(next === "" ? undefined : Number(next))}
      options={[
        { value: "", label: t("revisions.before") },
        ...others
          .filter((revision) => revision !== shown)
          .map((revision) => ({ value: String(revision), label: labelOf(revision) })),
      ]}
    />
  );
}

/** The document as JSON, compared with the other revision if there is one. */
function AsJson({ orb, revision }: { orb: string; revision: Revision }) {
  const before = revision.against ?? null;
  const other = useLoad<Revision>(before === null ? null : `history/${orb}/${before}/`, (signal) =>
    readRevision(orb, before ?? 1, undefined, signal),
  );
  const to = printed(revision.document);
  return (
    <details open={before !== null}>
      <summary>{t(before === null ? "revisions.document" : "schema.asJson")}</summary>
      {before === null ? (
        <JsonDiff label={t("revisions.document")} from="" to={to} />
      ) : other.data !== undefined ? (
        <JsonDiff label={t("schema.asJson")} from={printed(other.data.document)} to={to} />
      ) : other.error === undefined ? null : (
        <ProblemBox error={other.error} />
      )}
    </details>
  );
}

export function RevisionDetail(props: DetailProps) {
  const { orb, shown, against } = props;
  const one = useLoad(`history/${orb}/${shown}/${against ?? ""}`, (signal) =>
    readRevision(orb, shown, against, signal),
  );
  const { asked, ask, close, restore } = useRestore(props);
  return (
    <section class="revision-detail" aria-label={t("revisions.revision", { revision: String(shown) })}>
      <Shows of={one}>
        {(revision) => (
          <>
            <Head revision={revision} props={props} onRestore={() => void ask()} />
            <Against {...props} />
            {revision.summary.length === 0 ? (
              <p class="hint">{t("change.nothing")}</p>
            ) : (
              <Changes of={revision.summary.map(toneOf)} />
            )}
            {revision.document === null ? null : <AsJson orb={orb} revision={revision} />}
          </>
        )}
      </Shows>
      {asked === undefined ? null : (
        <Restore orb={orb} revision={shown} effects={asked} onClose={close} onRun={restore} />
      )}
    </section>
  );
}
