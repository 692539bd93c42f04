/** What the user should know about the form of an entry: on its page, and in the panel beside another form. */
import { isProblem } from "../../../../shared/client/problem.ts";
import type { EntryItem } from "../../api/entries.ts";
import type { Content } from "../../model/cells.ts";
import type { OrbModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { faultsOf, ProblemBox } from "../../ui/problem.tsx";
import { ConflictDialog } from "./conflict.tsx";
import { Notice } from "./notice.tsx";
import { Kept, Offers } from "./offers.tsx";
import { Others } from "./others.tsx";
import type { EntryForm } from "./state/form.ts";

export interface FormProps {
  form: EntryForm;
  entry: EntryItem | undefined;
  /** Returns the name of an account. */
  nameOf: (id: string) => string;
}

/** What the user should know about the form: that it was restored, that the entry has changed, and why a save failed. */
export function FormNotices({ form, entry, nameOf, start }: FormProps & { start: Content }) {
  const { rights, draft, saving, rest, isChanged } = form;
  const { problem } = saving;
  const newer = entry !== undefined && isChanged && entry.revision > draft.base.revision;
  const gone =
    entry !== undefined && isProblem(problem) && (problem.status === 404 || problem.status === 410);
  const discard = () =>
    draft.begin(
      entry === undefined ? { revision: 0, content: start } : { revision: entry.revision, content: entry },
    );
  return (
    <>
      <Others people={form.context.present ?? []} schema={form.context.schema} />
      <Offers {...{ form }} orb={form.context.orb} revision={entry?.revision ?? 0} />
      {draft.restored ? (
        <Notice icon="info">
          <p>{t("entry.restoredTyped")}</p>
          <Button size="small" onClick={discard}>
            {t("entry.discardTyped")}
          </Button>
        </Notice>
      ) : null}
      {newer ? (
        <Notice icon="triangleAlert">{t("entry.changedMeanwhile", { who: nameOf(entry.updatedBy) })}</Notice>
      ) : null}
      {problem === undefined || (faultsOf(problem).length > 0 && rest.length === 0) ? null : (
        <ProblemBox error={problem}>
          {gone && rights.may("create") ? (
            <Button icon="plus" onClick={() => void saving.saveAsNew()}>
              {t("entry.saveAsNew")}
            </Button>
          ) : null}
        </ProblemBox>
      )}
    </>
  );
}

/** What is uploading, what is unsaved, and the dialog in which the user resolves a conflict. */
export function FormStanding({
  form,
  nameOf,
  orb,
  onStored,
}: Omit<FormProps, "entry"> & { orb: OrbModel; onStored: (entry: EntryItem) => void }) {
  const { rights, draft, saving, waiting, isChanged, cells } = form;
  const { meeting } = saving;
  return (
    <>
      {waiting.text === undefined ? null : (
        <p class="entry-unsaved" role="status">
          {waiting.text}{" "}
          {waiting.wanted === undefined ? null : (
            <Button size="small" onClick={waiting.cancel}>
              {t("entry.waitNoLonger")}
            </Button>
          )}
        </p>
      )}
      {rights.readOnly === undefined ? (
        <p class={`entry-unsaved ${isChanged ? "" : "none"}`} role="status">
          {isChanged ? t("entry.unsaved", { count: draft.changed.length }) : t("entry.noneUnsaved")}
        </p>
      ) : null}
      {isChanged ? <Kept form={form} /> : null}
      {meeting === undefined ? null : (
        <ConflictDialog
          {...{ cells, orb }}
          base={draft.base.content}
          mine={draft.content}
          theirs={meeting.theirs}
          who={nameOf(meeting.theirs.updatedBy)}
          publish={meeting.publish}
          onClose={() => {
            onStored(meeting.theirs);
            saving.leaveMeeting();
          }}
          onChosen={(content) => void saving.saveChosen(content, meeting)}
        />
      )}
    </>
  );
}
