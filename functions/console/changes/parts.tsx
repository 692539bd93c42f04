/** Small parts that the list of change sets and the review of one share. */
import { useState } from "preact/hooks";
import { AccountName } from "../accounts/name.tsx";
import type { ChangeState } from "../api/changes.ts";
import { localText, timeZone } from "../fields/datetime.tsx";
import { useAction } from "../state/action.ts";
import { t } from "../texts/t.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/form.tsx";
import { Icon } from "../ui/icon.tsx";
import { faultAt, faultsOf, ProblemBox } from "../ui/problem.tsx";

const TONES: Readonly<Record<ChangeState, Tone>> = {
  OPEN: "info",
  IN_REVIEW: "warning",
  APPROVED: "good",
  SCHEDULED: "good",
  PUBLISHED: "good",
  REVERTED: "neutral",
  CLOSED: "neutral",
};

export function SetState({ state }: { state: ChangeState }) {
  return <Badge tone={TONES[state]}>{t(`changes.state-${state}`)}</Badge>;
}

/** The account that wrote something, and the program with which it did. */
export function Author({
  orb,
  by,
  token,
  through,
}: {
  orb: string;
  by: string;
  token?: string | undefined;
  through?: string | undefined;
}) {
  return (
    <>
      <AccountName orb={orb} id={by} />
      {token === undefined ? null : (
        <span class="badge warning change-program" title={token}>
          <Icon name="bot" size={14} />
          {t("changes.byToken")}
        </span>
      )}
      {through === undefined ? null : (
        <span class="badge warning change-program" dir="auto">
          <Icon name="bot" size={14} />
          {t("changes.byHandler", { handler: through })}
        </span>
      )}
    </>
  );
}

/** The dialog for the title and the description of a set. */
export function TitleDialog({
  title,
  action,
  start,
  onSend,
  onClose,
}: {
  title: string;
  action: string;
  start: { title: string; description: string };
  onSend: (set: { title: string; description: string }) => Promise<unknown>;
  onClose: () => void;
}) {
  const [name, setName] = useState(start.title);
  const [description, setDescription] = useState(start.description);
  const { busy, error, run } = useAction();
  const faults = faultsOf(error);
  const send = () => {
    if (!busy) void run(() => onSend({ title: name, description }));
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" busy={busy} onClick={send}>
            {action}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        {error === undefined || faults.length > 0 ? null : <ProblemBox error={error} />}
        <TextField
          label={t("changes.name")}
          hint={t("changes.nameHint")}
          value={name}
          onChange={setName}
          error={faultAt(faults, "/title")}
          required
        />
        <TextArea
          label={t("changes.description")}
          value={description}
          onChange={setDescription}
          error={faultAt(faults, "/description")}
          rows={3}
        />
      </form>
    </Dialog>
  );
}

/** The dialog for the time at which a set is to be published. */
export function ScheduleDialog({
  start,
  onSend,
  onClose,
}: {
  start: string | null;
  onSend: (publishAt: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const [text, setText] = useState(localText(start));
  const { busy, error, run } = useAction();
  const faults = faultsOf(error);
  // In the hour that the clocks repeat, the text stands for two times. The present one stays unless the text changes.
  const time = start !== null && text === localText(start) ? new Date(start) : new Date(text);
  const isValid = !Number.isNaN(time.getTime());
  const isGap = isValid && localText(time.toISOString()).slice(0, text.length) !== text;
  return (
    <Dialog
      title={t("changes.schedule")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button
            kind="primary"
            busy={busy}
            disabled={!isValid || isGap}
            onClick={() => void run(() => onSend(time.toISOString()))}
          >
            {t("changes.scheduleAction")}
          </Button>
        </>
      }
    >
      {error === undefined || faults.length > 0 ? null : <ProblemBox error={error} />}
      <p class="dialog-text">{t("changes.scheduleText")}</p>
      <TextField
        label={t("changes.time")}
        hint={timeZone()}
        type="datetime-local"
        value={text}
        onChange={setText}
        error={isGap ? t("changes.gap") : faultAt(faults, "/publishAt")}
        required
      />
    </Dialog>
  );
}

/** The dialog for a decision with a comment. */
export function DecisionDialog({
  title,
  text,
  action,
  required,
  onSend,
  onClose,
}: {
  title: string;
  text: string;
  action: string;
  /** Whether the comment must not be empty. */
  required: boolean;
  onSend: (comment: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const [comment, setComment] = useState("");
  const { busy, error, run } = useAction();
  const faults = faultsOf(error);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" busy={busy} onClick={() => void run(() => onSend(comment.trim()))}>
            {action}
          </Button>
        </>
      }
    >
      {error === undefined || faults.length > 0 ? null : <ProblemBox error={error} />}
      <p class="dialog-text">{text}</p>
      <TextArea
        label={t("changes.comment")}
        value={comment}
        onChange={setComment}
        error={faultAt(faults, "/comment")}
        required={required}
        rows={3}
      />
    </Dialog>
  );
}
