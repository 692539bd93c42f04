/**
 * Saves the form and moves the entry between states. Every write request contains the revision that it is based on.
 */
import { useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { isProblem } from "../../../../../shared/client/problem.ts";
import {
  createEntry,
  type EntryChange,
  type EntryItem,
  type EntryMove,
  type EntryPlace,
  moveEntry,
  readEntry,
  removeEntry,
  restoreRevision,
  updateEntry,
} from "../../../api/entries.ts";
import { type Content, MASK, valuesToSend } from "../../../model/cells.ts";
import type { FieldModel, OrbModel } from "../../../model/orb.ts";
import { orbLink } from "../../../shell/nav.ts";
import { refresh } from "../../../state/cache.ts";
import { setsKey } from "../../../state/change.ts";
import { type TextKey, t } from "../../../texts/t.ts";
import { confirm } from "../../../ui/dialog.tsx";
import { complain, say } from "../../../ui/toast.tsx";
import { contentOf, type Draft } from "./draft.ts";

/** A save that failed because another user saved a newer revision. */
export interface Meeting {
  theirs: EntryItem;
  publish: boolean;
}

export interface Saving {
  /** The pending operation: `save`, `publish`, or the name of a state change. */
  busy: string | undefined;
  problem: unknown;
  meeting: Meeting | undefined;
  save: (publish: boolean) => Promise<void>;
  /** Saves the result of a resolved conflict. */
  saveChosen: (content: Content, meeting: Meeting) => Promise<void>;
  leaveMeeting: () => void;
  /** Creates a new entry from the form, if another user has deleted the entry in the form. */
  saveAsNew: () => Promise<void>;
  move: (move: EntryMove) => Promise<void>;
  remove: () => Promise<void>;
  /** Creates a draft with the content of an older revision. */
  restore: (revision: number) => Promise<void>;
}

const MOVED: Readonly<Record<EntryMove, TextKey>> = {
  publish: "entry.published",
  unpublish: "entry.unpublished",
  archive: "entry.archived",
  restore: "entry.restored",
};

/** Returns a function that undoes a save; undefined if the API cannot undo it. */
function undoOf(
  place: EntryPlace,
  before: EntryItem,
  after: EntryItem,
  publish: boolean,
): (() => Promise<EntryItem>) | undefined {
  // A change set keeps no earlier versions.
  if (place.change !== undefined) return undefined;
  const back = () => restoreRevision(place, after, before.revision);
  if (!publish) return back;
  if (before.status !== "PUBLISHED") return () => moveEntry(place, after, "unpublish");
  // The API can restore the earlier published revision only if it was also the newest revision.
  if (before.publishedRevision !== before.revision) return undefined;
  return async () => moveEntry(place, await back(), "publish");
}

/** Returns the text that reports a save. */
const savedText = (place: EntryPlace, publish: boolean): TextKey =>
  place.change !== undefined ? "entry.savedInSet" : publish ? "entry.published" : "entry.saved";

export function useSaving({
  place,
  orb,
  entry,
  draft,
  writable,
  onStored,
  onMade,
  onCreated,
  onRemoved,
}: {
  place: EntryPlace;
  orb: OrbModel;
  entry: EntryItem | undefined;
  draft: Draft;
  writable: readonly FieldModel[];
  onStored: (entry: EntryItem) => void;
  /** Called with the created entry and the content that was sent, before `onCreated`. */
  onMade: (entry: EntryItem, sent: Content) => void;
  onCreated: (entry: EntryItem) => void;
  onRemoved: () => void;
}): Saving {
  /** Whether the form writes into a change set, and not the entry itself. */
  const inSet = place.change !== undefined;
  const [busy, setBusy] = useState<string>();
  const running = useRef(false);
  const [problem, setProblem] = useState<unknown>();
  const [meeting, setMeeting] = useState<Meeting>();
  const sayDeleted = useDeletion(place);
  // Reload lists only after the next render. Otherwise components that are about to disappear would load their data
  // again.
  const changedLists = () => void setTimeout(() => refresh(`orbs/${place.orb}/`));

  async function run(name: string, work: () => Promise<void>, publish = false): Promise<void> {
    // While a request is pending, ignore another key press.
    if (running.current) return;
    running.current = true;
    setBusy(name);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      // The set may be published or closed. The form then says so.
      if (inSet) refresh(setsKey(place.orb));
      if (entry !== undefined && isProblem(error, "revision_mismatch")) {
        try {
          setMeeting({ theirs: await readEntry(place, entry.id), publish });
        } catch (gone) {
          setProblem(gone);
        }
      } else setProblem(error);
    } finally {
      running.current = false;
      setBusy(undefined);
    }
  }

  /** @param sent what the request has sent; by default nothing, so all that the user has typed stays in the form */
  const stored = (next: EntryItem, sent: Content = draft.base.content) => {
    onStored(next);
    draft.stored(next, sent);
    changedLists();
  };

  /** Reports success, and offers to undo the change. */
  const offerUndo = (text: string, undo: (() => Promise<unknown>) | undefined) =>
    say(
      text,
      undo === undefined
        ? undefined
        : { label: t("entry.undo"), run: () => void undo().then(changedLists, complain) },
    );

  const create = async (change: EntryChange, publish: boolean, sent: Content) => {
    const made = await createEntry(place, change, publish);
    onMade(made, sent);
    draft.begin({ revision: made.revision, content: contentOf(made) });
    changedLists();
    say(t(inSet ? "entry.savedInSet" : publish ? "entry.createdPublished" : "entry.created"));
    onCreated(made);
  };

  const write = async (publish: boolean, content: Content, revision: number) => {
    const change = {
      values: valuesToSend(content, writable, orb),
      validFrom: content.validFrom,
      validTo: content.validTo,
    };
    if (entry === undefined) return create(change, publish, content);
    const next = await updateEntry(place, { id: entry.id, revision }, change, publish);
    stored(next, content);
    offerUndo(t(savedText(place, publish)), undoOf(place, entry, next, publish));
  };

  const moveTo = async (move: EntryMove) => {
    if (entry === undefined) return;
    const next = await moveEntry(place, { id: entry.id, revision: draft.base.revision }, move).catch(
      async (error: unknown) => {
        if (move !== "archive" || !(await agreesToForce(error, t("entry.archiveAnyway")))) throw error;
        return moveEntry(place, { id: entry.id, revision: draft.base.revision }, move, true);
      },
    );
    stored(next);
    const back: Partial<Record<EntryMove, EntryMove>> = { unpublish: "publish", archive: "restore" };
    const reverse = move === "publish" && entry.status !== "PUBLISHED" ? "unpublish" : back[move];
    if (inSet) say(t("entry.savedInSet"));
    else offerUndo(t(MOVED[move]), reverse === undefined ? undefined : () => moveEntry(place, next, reverse));
  };

  return {
    busy,
    problem,
    meeting,
    save: (publish) => {
      if (publish && entry !== undefined && draft.changed.length === 0)
        return run("publish", () => moveTo("publish"), true);
      return run(
        publish ? "publish" : "save",
        () => write(publish, draft.content, draft.base.revision),
        publish,
      );
    },
    saveChosen: (content, { theirs, publish }) => {
      setMeeting(undefined);
      // First make the other user's revision the base of the form. If this write fails too, the user's choices are
      // still in the form.
      draft.begin({ revision: theirs.revision, content: contentOf(theirs) }, content);
      onStored(theirs);
      return run(publish ? "publish" : "save", () => write(publish, content, theirs.revision), publish);
    },
    leaveMeeting: () => setMeeting(undefined),
    saveAsNew: () =>
      run("save", () => {
        const { validFrom, validTo } = draft.content;
        // The values behind the masks were deleted with the entry, so masked values cannot be copied.
        const values = Object.entries(valuesToSend(draft.content, writable, orb)).filter(
          ([name, value]) =>
            !(
              writable.some((field) => field.name === name && field.sensitive) &&
              JSON.stringify(value).includes(MASK)
            ),
        );
        return create({ values: Object.fromEntries(values), validFrom, validTo }, false, draft.content);
      }),
    move: (move) => run(move, () => moveTo(move)),
    remove: () =>
      run("delete", async () => {
        if (entry === undefined) return;
        const text = inSet
          ? "entry.deleteInSet"
          : place.managed
            ? "entry.deleteText"
            : "entry.deleteTextUser";
        const asked = { title: t("entry.deleteTitle"), text: t(text), action: t("entry.delete") };
        if (!(await confirm({ ...asked, danger: true }))) return;
        const target = { id: entry.id, revision: draft.base.revision };
        await removeEntry(place, target).catch(async (error: unknown) => {
          if (!(await agreesToForce(error, t("entry.deleteAnyway")))) throw error;
          await removeEntry(place, target, true);
        });
        sayDeleted(target);
        onRemoved();
        changedLists();
      }),
    restore: (revision) =>
      run("restore", async () => {
        if (entry === undefined) return;
        const next = await restoreRevision(place, { id: entry.id, revision: draft.base.revision }, revision);
        stored(next);
        offerUndo(t("entry.wentBack"), undoOf(place, entry, next, false));
      }),
  };
}

/** Returns a function that says that an entry was deleted, and offers to bring it back. */
function useDeletion(place: EntryPlace) {
  const [, go] = useLocation();
  const { orb, module, schema, change } = place;
  return ({ id, revision }: { id: string; revision: number }): void => {
    if (change !== undefined) {
      say(t("entry.deletedInSet"));
      return;
    }
    const restore = async () => {
      // The deletion is the next revision.
      await moveEntry(place, { id, revision: revision + 1 }, "restore");
      refresh(`orbs/${orb}/`);
      const open = () => go(orbLink(orb, "entries", module, schema, id));
      say(t("entry.backAsDraft"), { label: t("trash.open"), run: open });
    };
    say(t("entry.deleted"), { label: t("entry.undo"), run: () => void restore().catch(complain) });
  };
}

/**
 * If the error says that other entries refer to the entry, asks the user whether to continue. Returns false for any
 * other error.
 */
async function agreesToForce(error: unknown, action: string): Promise<boolean> {
  if (!isProblem(error, "referenced")) return false;
  const { total, totalExact } = error.body;
  const count = typeof total === "number" ? total : 0;
  return confirm({
    title: t("entry.referencedTitle"),
    text:
      count === 0
        ? t("entry.referencedUnseen")
        : t(totalExact === false ? "entry.referencedMore" : "entry.referencedText", { count }),
    action,
    danger: true,
  });
}
