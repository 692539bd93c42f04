/**
 * The actions on an entry: buttons for the most likely actions, a menu for the others, and keyboard commands for all.
 */
import { useRef } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { EntryItem, EntryPlace } from "../../api/entries.ts";
import { codeLink } from "../../shell/nav.ts";
import { type Command, shownKey, useCommands } from "../../state/commands.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { Link } from "../../ui/link.tsx";
import { Menu } from "../../ui/menu.tsx";
import type { Rights } from "../rights.ts";
import type { Draft } from "./state/draft.ts";
import type { Saving } from "./state/saving.ts";
import type { Waiting } from "./state/waiting.ts";

interface Act {
  id: string;
  label: string;
  icon: IconName;
  danger?: boolean;
  key?: string;
  run: () => void;
}

interface ActionsProps {
  entry: EntryItem | undefined;
  draft: Draft;
  rights: Rights;
  saving: Saving;
  /** Saves the entry, after its files are uploaded. */
  waiting: Waiting;
  /** Path of the schema's entries. */
  path: string;
  place: EntryPlace;
  /** Adds the entry to a change set, with the unsaved changes; undefined if there is nothing to add. */
  onAdd: (() => void) | undefined;
}

/** Returns the actions that change what visitors see. To unpublish in a change set, the right to update is enough. */
function stateActs({
  entry,
  rights,
  saving,
  place,
  onAdd,
  newer,
}: Pick<ActionsProps, "entry" | "rights" | "saving" | "place" | "onAdd"> & { newer: boolean }): Act[] {
  const inSet = place.change !== undefined;
  const mayUnpublish = rights.may(inSet ? "update" : "publish");
  const status = entry?.status;
  const acts: (Act | false)[] = [
    inSet &&
      entry !== undefined &&
      status !== "PUBLISHED" &&
      status !== "ARCHIVED" &&
      rights.may("update") && {
        id: "publishInSet",
        label: t("entry.publishInSet"),
        icon: "send",
        run: () => void saving.move("publish"),
      },
    onAdd !== undefined && {
      id: "addToSet",
      label: t("changes.add"),
      icon: "gitPullRequest",
      run: onAdd,
    },
    status === "PUBLISHED" &&
      mayUnpublish && {
        id: "unpublish",
        label: t("entry.unpublish"),
        icon: "download",
        run: () => void saving.move("unpublish"),
      },
    status === "ARCHIVED" &&
      rights.may("delete") && {
        id: "restore",
        label: t("entry.restore"),
        icon: "undo",
        run: () => void saving.move("restore"),
      },
    newer &&
      !inSet &&
      rights.history &&
      rights.may("update") && {
        id: "discard",
        label: t("entry.discard"),
        icon: "undo",
        run: () => void saving.restore(entry?.publishedRevision ?? 0),
      },
  ];
  return acts.filter((act) => act !== false);
}

/** Returns the actions of the menu. @param newer whether a draft is beside the live version */
function actsOf(
  props: Pick<ActionsProps, "entry" | "rights" | "saving" | "path" | "place" | "onAdd"> & { newer: boolean },
  go: (to: string) => void,
): Act[] {
  const { entry, rights, saving, path, place } = props;
  const status = entry?.status;
  const acts: (Act | false)[] = [
    entry !== undefined &&
      rights.may("create") && {
        id: "duplicate",
        label: t("entry.duplicate"),
        icon: "copy",
        run: () => go(`${path}/new?from=${encodeURIComponent(entry.id)}`),
      },
    entry !== undefined &&
      rights.history && {
        id: "history",
        label: t("entry.history"),
        icon: "history",
        run: () => go(`${path}/${encodeURIComponent(entry.id)}/history`),
      },
    entry !== undefined && {
      id: "code",
      label: t("entry.code"),
      icon: "code",
      run: () => go(codeLink(place, { operation: "get", entry: entry.id })),
    },
    entry !== undefined &&
      status !== "ARCHIVED" &&
      rights.may("delete") && {
        id: "archive",
        label: t("entry.archive"),
        icon: "archive",
        run: () => void saving.move("archive"),
      },
    entry !== undefined &&
      rights.may("delete") && {
        id: "delete",
        label: t("entry.delete"),
        icon: "trash",
        danger: true,
        run: () => void saving.remove(),
      },
  ];
  return [...stateActs(props), ...acts.filter((act) => act !== false)];
}

export function Actions({ entry, draft, rights, saving, waiting, path, place, onAdd }: ActionsProps) {
  const [, go] = useLocation();
  const isChanged = draft.changed.length > 0;
  /** In a change set, what is saved goes live with the set. To unpublish, the right to update is enough. */
  const inSet = place.change !== undefined;
  const mayPublish = !inSet && rights.may("publish");
  const { save, wanted } = waiting;
  const isUploading = waiting.text !== undefined;
  const canSave = rights.readOnly === undefined && (isChanged || isUploading || entry === undefined);
  const newer =
    entry !== undefined && entry.publishedRevision !== null && entry.publishedRevision < entry.revision;
  const status = entry?.status;
  const publishable =
    mayPublish &&
    status !== "ARCHIVED" &&
    (canSave || (entry !== undefined && !isChanged && (status !== "PUBLISHED" || newer)));
  const writes = entry === undefined || isChanged || isUploading;
  const publishText = t(writes ? "entry.savePublish" : "entry.publish");
  const acts = actsOf({ entry, rights, saving, path, place, onAdd, newer }, go);
  /** Whether to show the button for a new entry. It is hidden while this entry has unsaved changes. */
  const isNext = entry !== undefined && !isChanged && rights.may("create");
  // The user may press a key after a change but before `useCommands` has run again. So commands read the newest values
  // from this ref.
  const newest = useRef({ acts, canSave, publishable, save });
  newest.current = { acts, canSave, publishable, save };
  const names = acts.map(({ label }) => label).join();
  useCommands(() => {
    const group = t("entry.entry");
    const own: Command[] = acts.map(({ id, label }) => ({
      id: `entry.${id}`,
      title: label,
      group,
      run: () => newest.current.acts.find((act) => act.id === id)?.run(),
    }));
    if (rights.readOnly === undefined)
      own.push({
        id: "entry.save",
        title: t(inSet ? "entry.saveInSet" : "entry.saveDraft"),
        group,
        key: "mod+s",
        run: () => newest.current.canSave && newest.current.save(false),
      });
    if (mayPublish)
      own.push({
        id: "entry.publish",
        title: t("entry.savePublish"),
        group,
        key: "mod+Enter",
        run: () => newest.current.publishable && newest.current.save(true),
      });
    if (isNext)
      own.push({
        id: "entry.new",
        title: t("table.newEntry"),
        group,
        key: "n",
        run: () => go(`${path}/new`),
      });
    return own;
  }, [names, rights.readOnly, mayPublish, inSet, isNext]);
  if (acts.length === 0 && rights.readOnly !== undefined) return null;
  return (
    <div class="entry-actions">
      <div class="entry-buttons">
        {publishable ? (
          <Button
            kind="primary"
            busy={saving.busy === "publish" || wanted === "publish"}
            disabled={saving.busy !== undefined && saving.busy !== "publish"}
            title={shownKey("mod+Enter")}
            onClick={() => save(true)}
          >
            {publishText}
          </Button>
        ) : null}
        {rights.readOnly === undefined ? (
          <Button
            kind={publishable || !canSave ? "plain" : "primary"}
            busy={saving.busy === "save" || wanted === "save"}
            disabled={!canSave || (saving.busy !== undefined && saving.busy !== "save")}
            title={shownKey("mod+s")}
            onClick={() => save(false)}
          >
            {t(inSet ? "entry.saveInSet" : "entry.saveDraft")}
          </Button>
        ) : null}
      </div>
      {isNext ? (
        <Link to={`${path}/new`} class="button square" title={t("table.newEntry")}>
          <Icon name="plus" />
          <span class="sr-only">{t("table.newEntry")}</span>
        </Link>
      ) : null}
      {acts.length === 0 ? null : (
        <Menu
          label={t("entry.more")}
          class="button square"
          button={<Icon name="ellipsis" />}
          items={acts.map(({ label, icon, danger, run }) => ({
            label,
            icon,
            run,
            danger: danger === true,
            disabled: saving.busy !== undefined,
          }))}
        />
      )}
    </div>
  );
}
