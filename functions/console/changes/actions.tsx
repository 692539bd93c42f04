/** What the user can do with a change set as a whole, in its present state. */
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import {
  approveChange,
  type ChangeSet,
  type ChangesPlace,
  closeChange,
  isActive,
  publishChange,
  rejectChange,
  requestReview,
  revertChange,
  updateChange,
} from "../api/changes.ts";
import { orbLink } from "../shell/nav.ts";
import { refresh } from "../state/cache.ts";
import { leaveFreely } from "../state/leave.ts";
import { type TextKey, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { LinkButton } from "../ui/link.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { say } from "../ui/toast.tsx";
import { DecisionDialog, ScheduleDialog, TitleDialog } from "./parts.tsx";
import { refreshSets, type SetRights } from "./place.ts";

type Asking = "approve" | "reject" | "rename" | "schedule";

interface ActionsProps {
  place: ChangesPlace;
  set: ChangeSet;
  rights: SetRights;
  /** Receives the error of an action; undefined when an action begins. */
  onError: (error: unknown) => void;
}

/** Runs an action on the set, and loads it again. */
function useRun({ place, onError }: ActionsProps) {
  const [busy, setBusy] = useState<string>();
  const run = async (name: string, work: () => Promise<unknown>) => {
    if (busy !== undefined) return;
    setBusy(name);
    onError(undefined);
    try {
      await work();
    } catch (error) {
      onError(error);
      refreshSets(place.orb);
    } finally {
      setBusy(undefined);
    }
  };
  return { busy, run };
}

function useSteps(props: ActionsProps) {
  const { place, set } = props;
  const { busy, run } = useRun(props);
  const [, go] = useLocation();
  const done = (text: TextKey) => {
    say(t(text));
    refreshSets(place.orb);
  };
  const revert = () =>
    run("revert", async () => {
      const made = await revertChange(place, set.id);
      refreshSets(place.orb);
      leaveFreely();
      go(orbLink(place.orb, "changes", made.id));
      say(t("changes.revertOpened"));
    });
  return {
    busy,
    review: () =>
      void run("review", async () => {
        await requestReview(place, set.id);
        done("changes.reviewAsked");
      }),
    publish: () =>
      void run("publish", async () => {
        const sure = await confirm({
          title: t("changes.publishTitle", { title: set.title }),
          text: t("changes.publishText", { count: set.entries }),
          action: t("changes.publishAction", { count: set.entries }),
        });
        if (!sure) return;
        const { items } = await publishChange(place, set);
        say(t("changes.published", { count: items.length }), {
          label: t("changes.revert"),
          run: () => void revert(),
        });
        // The entries are different now, too.
        refresh(`orbs/${place.orb}/`);
      }),
    unplan: () =>
      void run("unplan", async () => {
        await updateChange(place, set, { publishAt: null });
        done("changes.unplanned");
      }),
    revert: () => void revert(),
    close: () =>
      void run("close", async () => {
        const sure = await confirm({
          title: t("changes.closeTitle", { title: set.title }),
          text: t("changes.closeText", { count: set.entries }),
          action: t("changes.close"),
          danger: true,
        });
        if (!sure) return;
        await closeChange(place, set);
        done("changes.closed");
      }),
    done,
  };
}

function Asked({
  asking,
  place,
  set,
  done,
  onClose,
}: Pick<ActionsProps, "place" | "set"> & {
  asking: Asking;
  done: (text: TextKey) => void;
  onClose: () => void;
}) {
  if (asking === "rename")
    return (
      <TitleDialog
        title={t("changes.rename")}
        action={t("changes.renameAction")}
        start={{ title: set.title, description: set.description ?? "" }}
        onClose={onClose}
        onSend={async ({ title, description }) => {
          await updateChange(place, set, {
            title,
            description: description.trim() === "" ? null : description,
          });
          onClose();
          done("changes.renamed");
        }}
      />
    );
  if (asking === "schedule")
    return (
      <ScheduleDialog
        start={set.publishAt}
        onClose={onClose}
        onSend={async (publishAt) => {
          await updateChange(place, set, { publishAt, hash: set.hash });
          onClose();
          done("changes.planned");
        }}
      />
    );
  const isApproval = asking === "approve";
  return (
    <DecisionDialog
      title={t(isApproval ? "changes.approveTitle" : "changes.rejectTitle", { title: set.title })}
      text={isApproval ? t("changes.approveText", { count: set.entries }) : t("changes.rejectText")}
      action={t(isApproval ? "changes.approve" : "changes.reject")}
      required={!isApproval}
      onClose={onClose}
      onSend={async (comment) => {
        if (isApproval) await approveChange(place, set, comment === "" ? undefined : comment);
        else await rejectChange(place, set.id, comment);
        onClose();
        done(isApproval ? "changes.approvedNow" : "changes.rejectedNow");
      }}
    />
  );
}

/** Returns the less likely actions. */
function menuOf(
  set: ChangeSet,
  rights: SetRights,
  {
    ask,
    review,
    unplan,
    close,
  }: Record<"review" | "unplan" | "close", () => void> & {
    ask: (what: Asking) => void;
  },
): MenuItem[] {
  if (!isActive(set) || !rights.write) return [];
  return [
    ...(set.state === "APPROVED"
      ? [{ label: t("changes.askReview"), icon: "eye" as const, run: review }]
      : []),
    ...(rights.publish
      ? [
          { label: t("changes.schedule"), icon: "clock" as const, run: () => ask("schedule") },
          ...(set.publishAt === null
            ? []
            : [{ label: t("changes.unplan"), icon: "x" as const, run: unplan }]),
        ]
      : []),
    { label: t("changes.rename"), icon: "pencil", run: () => ask("rename") },
    { label: t("changes.close"), icon: "x", danger: true, run: close },
  ];
}

export function SetActions(props: ActionsProps) {
  const { place, set, rights } = props;
  const { busy, done, ...steps } = useSteps(props);
  const [asking, setAsking] = useState<Asking>();
  const { state } = set;
  const active = isActive(set);
  const inReview = state === "IN_REVIEW" || state === "APPROVED";
  const mayReject = inReview || state === "SCHEDULED";
  const isReady = set.entries > 0 && set.review.every(({ approvals, given }) => given >= approvals);
  const more = menuOf(set, rights, { ...steps, ask: setAsking });
  return (
    <>
      {active && rights.write ? (
        <LinkButton to={`${orbLink(place.orb)}?change=${encodeURIComponent(set.id)}`} icon="pencil">
          {t("changes.edit")}
        </LinkButton>
      ) : null}
      {active && rights.publish ? (
        <Button
          kind={isReady ? "primary" : "plain"}
          icon="send"
          busy={busy === "publish"}
          disabled={set.entries === 0}
          onClick={steps.publish}
        >
          {t("changes.publish")}
        </Button>
      ) : null}
      {state === "OPEN" && rights.write ? (
        <Button
          kind={isReady && rights.publish ? "plain" : "primary"}
          icon="eye"
          busy={busy === "review"}
          disabled={set.entries === 0}
          onClick={steps.review}
        >
          {t("changes.askReview")}
        </Button>
      ) : null}
      {inReview && rights.approve && !rights.hasApproved ? (
        <Button kind={isReady ? "plain" : "primary"} icon="check" onClick={() => setAsking("approve")}>
          {t("changes.approve")}
        </Button>
      ) : null}
      {mayReject && rights.approve ? (
        <Button icon="messageSquare" onClick={() => setAsking("reject")}>
          {t("changes.reject")}
        </Button>
      ) : null}
      {state === "PUBLISHED" && rights.revert ? (
        <Button icon="undo" busy={busy === "revert"} onClick={steps.revert}>
          {t("changes.revert")}
        </Button>
      ) : null}
      {more.length === 0 ? null : (
        <Menu label={t("entry.more")} class="button square" button={<Icon name="ellipsis" />} items={more} />
      )}
      {asking === undefined ? null : (
        <Asked {...{ asking, place, set, done }} onClose={() => setAsking(undefined)} />
      )}
    </>
  );
}
