/** Adds the entry of a form to a change set, with what the user has typed. */
import { useLocation } from "wouter-preact";
import type { EntryItem, EntryPlace } from "../../api/entries.ts";
import { valuesToSend } from "../../model/cells.ts";
import type { FieldModel, ModuleModel } from "../../model/orb.ts";
import { refresh } from "../../state/cache.ts";
import { setsKey } from "../../state/change.ts";
import { leaveFreely } from "../../state/leave.ts";
import { t } from "../../texts/t.ts";
import { say } from "../../ui/toast.tsx";
import { AddDialog, hasDraft, type Source } from "../add.tsx";
import type { Draft } from "./state/draft.ts";
import { forgetDraft } from "./state/kept.ts";

/** Returns whether a form outside of a set has something that a set can take over. */
export const isAddable = (
  { change }: EntryPlace,
  { type }: ModuleModel,
  entry: EntryItem | undefined,
  isChanged: boolean,
): boolean =>
  change === undefined &&
  (type === "CONTENT" || type === "CONFIG") &&
  entry !== undefined &&
  entry.status !== "ARCHIVED" &&
  (isChanged || hasDraft(entry));

export function Adding({
  place,
  entry,
  draft: { base, content, changed },
  writable,
  source,
  path,
  title,
  draftKey,
  onClose,
}: {
  place: EntryPlace;
  entry: EntryItem;
  draft: Draft;
  /** The fields to send. */
  writable: readonly FieldModel[];
  source: Source;
  /** Path of the schema's entries. */
  path: string;
  title: string;
  /** Key under which the tab stores the unsaved changes. */
  draftKey: string;
  onClose: () => void;
}) {
  const [, go] = useLocation();
  const { validFrom, validTo } = content;
  const typed = {
    base: base.revision,
    change: { values: valuesToSend(content, writable, source.orb), validFrom, validTo },
  };
  return (
    <AddDialog
      {...{ place, source, onClose }}
      ids={[entry.id]}
      content={changed.length > 0 ? typed : undefined}
      nameOf={() => title}
      onAdded={(set) => {
        forgetDraft(draftKey);
        say(t("changes.added", { count: 1 }));
        refresh(setsKey(place.orb));
        leaveFreely();
        go(`${path}/${encodeURIComponent(entry.id)}?change=${encodeURIComponent(set)}`);
      }}
    />
  );
}
