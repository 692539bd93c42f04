/** The actions on a change set as a whole, in its present state. */
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
import { changeIn } from "../state/change.ts";
import { type TextKey, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { LinkButton } from "../ui/link.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { complain, say } from "../ui/toast.tsx";
import { DecisionDialog, ScheduleDialog, TitleDialog } from "./parts.tsx";
import { refreshSets, type SetRights } from "./place.ts";

type Asking = "approve" | "reject" | "rename" | "schedule";

interface ActionsProps {
  place: ChangesPlace;
  set: ChangeSet;
  rights: SetRights;
  /** Number of entries that the page does not show yet. */
  unseen: number;
  /** Receives the error of an action; undefined when an action begins. */
  onError: (error: unknown) => void;
}

const unseenText = (count: number): readonly string[] =>
  count === 0 ? [] : [t("changes.notShown", { count })];

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
  const { place, set, unseen } = props;
  const { busy, run } = useRun(props);
  const [, go] = useLocation();
  const done = (text: TextKey) => {
    say(t(text));
    refreshSets(place.orb);
  };
  const revert = async () => {
    const made = await revertChange(place, set.id);
    refreshSets(place.orb);
    say(t("changes.revertOpened"));
    go(orbLink(place.orb, "changes", made.id));
  };
  /** The set takes no changes any longer. */
  const leave = () => {
    if (changeIn(place.orb) === set.id) go(`${orbLink(place.orb, "changes", set.id)}?change=`);
  };
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
          text: [t("changes.publishText", { count: set.entries }), ...unseenText(unseen)].join(" "),
          action: t("changes.publishAction", { count: set.entries }),
        });
        if (!sure) return;
        const { items } = await publishChange(place, set);
        say(t("changes.published", { count: items.length }), {
          label: t("changes.revert"),
          // The user may have opened another page since.
          run: () => void revert().catch(complain),
        });
        // The entries are different now, too.
        refresh(`orbs/${place.orb}/`);
        if (set.definition !== null) for (const key of ["orbs", "document"]) refresh(`${key}/${place.orb}`);
        leave();
      }),
    unplan: () =>
      void run("unplan", async () => {
        await updateChange(place, set, { publishAt: null });
        done("changes.unplanned");
      }),
    revert: () => void run("revert", revert),
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
        leave();
      }),
    done,
  };
}

function Asked({
  asking,
  seen,
  place,
  set,
  unseen,
  done,
  onClose,
}: Pick<ActionsProps, "place" | "set" | "unseen"> & {
  asking: Asking;
  /** The set as the page has shown it when the dialog opened. */
  seen: ChangeSet;
  done: (text: TextKey) => void;
  onClose: () => void;
}) {
  /** After a refusal, the page shows the set as it is now. */
  const send = async (work: Promise<unknown>, text: TextKey) => {
    try {
      await work;
    } catch (error) {
      refreshSets(place.orb);
      throw error;
    }
    onClose();
    done(text);
  };
  if (asking === "rename")
    return (
      <TitleDialog
        title={t("changes.rename")}
        action={t("changes.renameAction")}
        start={{ title: set.title, description: set.description ?? "" }}
        onClose={onClose}
        onSend={({ title, description }) =>
          send(
            updateChange(place, set, { title, description: description.trim() === "" ? null : description }),
            "changes.renamed",
          )
        }
      />
    );
  if (asking === "schedule")
    return (
      <ScheduleDialog
        start={set.publishAt}
        onClose={onClose}
        onSend={(publishAt) =>
          send(updateChange(place, set, { publishAt, hash: seen.hash }), "changes.planned")
        }
      />
    );
  const isApproval = asking === "approve";
  return (
    <DecisionDialog
      title={t(isApproval ? "changes.approveTitle" : "changes.rejectTitle", { title: set.title })}
      text={
        isApproval
          ? [t("changes.approveText", { count: seen.entries }), ...unseenText(unseen)].join(" ")
          : t("changes.rejectText")
      }
      action={t(isApproval ? "changes.approve" : "changes.reject")}
      required={!isApproval}
      onClose={onClose}
      onSend={(comment) =>
        isApproval
          ? send(approveChange(place, seen, comment === "" ? undefined : comment), "changes.approvedNow")
          : send(rejectChange(place, set.id, comment), "changes.rejectedNow")
      }
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
  const { place, set, rights, unseen } = props;
  const { busy, done, ...steps } = useSteps(props);
  const [asked, setAsked] = useState<{ asking: Asking; seen: ChangeSet }>();
  const setAsking = (asking: Asking) => setAsked({ asking, seen: set });
  const { state } = set;
  const active = isActive(set);
  const inReview = state === "IN_REVIEW" || state === "APPROVED";
  const mayReject = inReview || state === "SCHEDULED";
  const isEmpty = set.entries === 0 && set.definition === null;
  const isReady = !isEmpty && set.review.every(({ approvals, given }) => given >= approvals);
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
          disabled={isEmpty}
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
          disabled={isEmpty}
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
      {asked === undefined ? null : (
        <Asked {...{ ...asked, place, set, unseen, done }} onClose={() => setAsked(undefined)} />
      )}
    </>
  );
}
