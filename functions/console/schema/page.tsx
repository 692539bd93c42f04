/** The schema editor: the document of an application as a form and as JSON. */
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { isProblem } from "../../../shared/client/problem.ts";
import { moveOrb, type OrbDocument, orbPath } from "../api/orbs.ts";
import { CodeDialog } from "../code/sample.tsx";
import type { Sample } from "../model/code.ts";
import { titleOf } from "../model/orb.ts";
import { OrbContents } from "../shell/contents.tsx";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { changeIn } from "../state/change.ts";
import { isMac, shownKey, useCommands } from "../state/commands.ts";
import { useLeaveGuard } from "../state/leave.ts";
import { useLoad } from "../state/load.ts";
import { useAccountNames } from "../state/names.ts";
import { t } from "../texts/t.ts";
import { Badge, StateBadge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { Page } from "../ui/page.tsx";
import { Shows } from "../ui/states.tsx";
import { complain, say } from "../ui/toast.tsx";
import { CheckState, useView, type View, Views } from "./bar.tsx";
import { ConflictDialog } from "./conflict.tsx";
import { baseOf, documentKey, Editor, readDocument } from "./document/editor.ts";
import { below, isObject, textOf, valueAt, withValue } from "./document/pointer.ts";
import { FaultList } from "./form/faults.tsx";
import { Form } from "./form/forms.tsx";
import { InSet, useTakeOut } from "./in-set.tsx";
import { JsonPane } from "./json-pane.tsx";
import { NewModule } from "./new-module.tsx";
import { Review } from "./review.tsx";
import { SaveTemplate } from "./save-template.tsx";
import { Tree } from "./tree.tsx";
import { WebhookSecret } from "./webhook-secret.tsx";

/**
 * Handles ⌘Z and ⇧⌘Z on the whole page. The browser's own undo would change only one input, not form and JSON
 * together.
 */
function useUndoKeys(editor: Editor): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const mod = isMac ? event.metaKey : event.ctrlKey;
      const key = event.key.toLowerCase();
      if (!mod || event.altKey || (key !== "z" && key !== "y")) return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      if (key === "y" || event.shiftKey) editor.redo();
      else editor.undo();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [editor]);
}

/** Adds the attribute that a link proposes: `?at=<pointer to a field>&propose=index` or `search`. */
function propose(editor: Editor): void {
  const query = new URLSearchParams(location.search);
  const [at, name] = [query.get("at") ?? "", query.get("propose")];
  if ((name !== "index" && name !== "search") || editor.broken.value) return;
  const before = editor.document.value;
  const field = valueAt(before, at);
  if (!isObject(field) || field[name] !== undefined) return;
  editor.edit(withValue(before, below(at, name), name === "index" ? "ordered" : true));
  say(t(name === "index" ? "schema.proposedIndex" : "schema.proposedSearch", { field: textOf(field.name) }), {
    label: t("schema.undo"),
    run: () => editor.edit(before),
  });
}

/** A dialog of the page. `template`: saves the module at a JSON Pointer. `hook`: creates a secret for a webhook. */
type Opened =
  | { what: "review" | "conflict" | "module" | "code" }
  | { what: "template"; path: string }
  | { what: "hook"; id: string };

/** Connects the editor with the page: its start, newer documents, the address, keys, and leaving the page. */
function useEditor(orb: OrbDocument, newest: OrbDocument, change: string | undefined): Editor {
  const [, navigate] = useLocation();
  const editor = useMemo(
    () => new Editor(orb, new URLSearchParams(location.search).get("at") ?? "", change),
    [orb.id, change],
  );
  const selected = editor.selected.value;
  useLayoutEffect(() => {
    editor.start();
    if (editor.restored) say(t("schema.restored"));
    propose(editor);
    return () => editor.stop();
  }, [editor]);
  useLayoutEffect(() => editor.meet(baseOf(newest)), [newest]);
  useEffect(() => {
    const query = selected === "" ? "" : `?at=${encodeURIComponent(selected)}`;
    navigate(`${orbLink(orb.id, "schema")}${query}`, { replace: true });
  }, [selected]);
  useUndoKeys(editor);
  useLeaveGuard(editor.dirty.value, () =>
    confirm({
      title: t("schema.leave"),
      text: t("schema.leaveText"),
      action: t("schema.leaveAction"),
    }),
  );
  return editor;
}

const confirmUnpublish = (orb: OrbDocument): Promise<boolean> =>
  confirm({
    title: t("schema.unpublishTitle", { orb: titleOf(orb) }),
    text: (
      <>
        <p>{t("schema.unpublishText")}</p>
        <OrbContents orb={orb.id} />
      </>
    ),
    action: t("schema.unpublish"),
    danger: true,
  });

/** What the buttons of the page do. */
function useSteps(orb: OrbDocument, editor: Editor, open: (opened: Opened) => void) {
  const [saving, setSaving] = useState(false);
  return {
    saving,
    async save() {
      if (!editor.dirty.value || saving) return;
      if (editor.broken.value) return say(t("schema.broken"));
      if (editor.theirs.value !== undefined) return open({ what: "conflict" });
      setSaving(true);
      try {
        await editor.save({});
        say(t(editor.change === undefined ? "schema.saved" : "schema.savedInSet"));
      } catch (error) {
        if (editor.theirs.value !== undefined) open({ what: "conflict" });
        else if (isProblem(error) && error.errors.length > 0)
          say(t("schema.notSaved", { count: error.errors.length }));
        else complain(error);
      } finally {
        setSaving(false);
      }
    },
    async move(how: "unpublish" | "restore") {
      if (how === "unpublish" && !(await confirmUnpublish(orb))) return;
      try {
        editor.took(await moveOrb(orb.id, editor.base.value.state.revision, how));
        say(t(how === "unpublish" ? "schema.unpublished" : "schema.unarchived"));
      } catch (error) {
        await editor.look();
        complain(error);
      }
    },
    discard() {
      const before = editor.document.value;
      editor.discard();
      say(t("schema.discarded"), { label: t("schema.undo"), run: () => editor.edit(before) });
    },
    review() {
      editor.tried.value = true;
      open({ what: editor.theirs.value === undefined ? "review" : "conflict" });
    },
  };
}

type Steps = ReturnType<typeof useSteps>;

/** Texts of the buttons. Within a change set, the document is saved into the set and published with it. */
const saveText = ({ change }: Editor) => t(change === undefined ? "schema.save" : "entry.saveInSet");
const reviewText = ({ change }: Editor) => t(change === undefined ? "schema.review" : "schema.reviewInSet");

function useSchemaCommands(editor: Editor, { saving, save, review }: Steps, open: (opened: Opened) => void) {
  const group = t("schema.title");
  useCommands(
    () => [
      { id: "schema.save", title: saveText(editor), group, key: "mod+s", run: () => void save() },
      { id: "schema.review", title: reviewText(editor), group, run: review },
      {
        id: "schema.module",
        title: t("schema.newModule"),
        group,
        key: "n",
        run: () => {
          if (!editor.broken.value) open({ what: "module" });
        },
      },
    ],
    [editor, saving],
  );
}

/** Further actions on the document. */
function MoreActions({
  orb,
  editor,
  steps,
  open,
}: {
  orb: OrbDocument;
  editor: Editor;
  steps: Steps;
  open: (opened: Opened) => void;
}) {
  const [, navigate] = useLocation();
  const { status, publishedRevision } = editor.base.value.state;
  const dirty = editor.dirty.value;
  const takeOut = useTakeOut(editor);
  const state =
    status === "ARCHIVED"
      ? { label: t("schema.unarchive"), icon: "archive" as const, run: () => void steps.move("restore") }
      : {
          label: t("schema.unpublish"),
          icon: "lock" as const,
          danger: true,
          disabled: publishedRevision === null || dirty,
          run: () => void steps.move("unpublish"),
        };
  return (
    <Menu
      class="button quiet square"
      label={t("schema.actions")}
      button={<Icon name="ellipsis" />}
      items={[
        { label: t("revisions.title"), icon: "history", run: () => navigate(orbLink(orb.id, "history")) },
        { label: t("api.button"), icon: "code", run: () => open({ what: "code" }) },
        { label: t("schema.discard"), icon: "undo", disabled: !dirty, run: steps.discard },
        editor.change === undefined ? state : takeOut,
      ]}
    />
  );
}

/** Buttons that undo and redo, save, and publish. */
function EditorActions({ editor, steps }: { editor: Editor; steps: Steps }) {
  const dirty = editor.dirty.value;
  const broken = editor.broken.value;
  const { revision, publishedRevision } = editor.base.value.state;
  const isInSet = editor.change !== undefined;
  // Within a set, the effects of a saved document can be seen again.
  const publishable = !broken && (dirty || isInSet || publishedRevision !== revision);
  return (
    <>
      <IconButton
        label={`${t("schema.undo")} (${shownKey("mod+z")})`}
        icon="undo"
        disabled={editor.past.value.length === 0}
        onClick={editor.undo}
      />
      <IconButton
        label={`${t("schema.redo")} (${shownKey("mod+shift+z")})`}
        icon="redo"
        disabled={editor.future.value.length === 0}
        onClick={editor.redo}
      />
      <Button busy={steps.saving} disabled={!dirty || broken} onClick={() => void steps.save()}>
        {saveText(editor)}
      </Button>
      <Button kind="primary" disabled={!publishable} onClick={steps.review}>
        {reviewText(editor)}
      </Button>
    </>
  );
}

/** The document as a form and as JSON, or as one of them. */
function Panes({ editor, view, open }: { editor: Editor; view: View; open: (opened: Opened) => void }) {
  const broken = editor.broken.value;
  const onNew = () => open({ what: "module" });
  return (
    <div class={`editor view-${view}`}>
      {view === "json" ? null : (
        <>
          <Tree editor={editor} onNew={onNew} />
          <fieldset class="schema-form" disabled={broken}>
            <legend class="sr-only">{t("schema.view_form")}</legend>
            {broken ? <p class="schema-notice">{t("schema.brokenForm")}</p> : null}
            <Form
              editor={editor}
              onNew={onNew}
              onTemplate={(path) => open({ what: "template", path })}
              onSecret={(id) => open({ what: "hook", id })}
            />
          </fieldset>
        </>
      )}
      {view === "form" ? null : <JsonPane editor={editor} />}
    </div>
  );
}

/** The open dialog. @param by name of the user who has saved a newer revision */
function OpenDialog({
  opened,
  editor,
  by,
  onClose,
}: {
  opened: Opened;
  editor: Editor;
  by: string;
  onClose: () => void;
}) {
  const theirs = editor.theirs.value;
  switch (opened.what) {
    case "module":
      return <NewModule editor={editor} onClose={onClose} />;
    case "template":
      return <SaveTemplate editor={editor} path={opened.path} onClose={onClose} />;
    case "hook":
      return <WebhookSecret orb={editor.orb} hook={opened.id} onClose={onClose} />;
    case "code":
      return <CodeDialog samples={samplesOf(editor)} onClose={onClose} />;
    case "review":
      return <Review editor={editor} onClose={onClose} />;
    default:
      return theirs === undefined ? null : (
        <ConflictDialog editor={editor} theirs={theirs} name={by} onClose={onClose} />
      );
  }
}

function Workspace({
  orb,
  newest,
  change,
}: {
  orb: OrbDocument;
  newest: OrbDocument;
  change: string | undefined;
}) {
  const editor = useEditor(orb, newest, change);
  const [view, setView] = useView();
  const [opened, open] = useState<Opened>();
  const nameOf = useAccountNames(orb.id);
  const theirs = editor.theirs.value;
  const { state } = editor.base.value;
  const by = theirs === undefined ? "" : nameOf(theirs.state.updatedBy);
  const steps = useSteps(orb, editor, open);
  useSchemaCommands(editor, steps, open);
  return (
    <Page
      title={t("schema.title")}
      path={[{ label: titleOf(orb), to: orbLink(orb.id) }]}
      wide
      lead={
        <span class="schema-state">
          {change === undefined ? <StateBadge of={state} /> : <Badge tone="info">{t("schema.inSet")}</Badge>}
          {editor.dirty.value ? <Badge tone="warning">{t("schema.unsaved")}</Badge> : null}
          <CheckState editor={editor} />
        </span>
      }
      actions={
        <>
          <Views view={view} setView={setView} />
          <EditorActions editor={editor} steps={steps} />
          <MoreActions {...{ orb, editor, steps, open }} />
        </>
      }
    >
      {theirs === undefined ? null : (
        <div class="notice conflict" role="alert">
          <p>{t("conflict.notice", { name: by, revision: theirs.state.revision })}</p>
          <Button size="small" onClick={() => open({ what: "conflict" })}>
            {t("conflict.open")}
          </Button>
        </div>
      )}
      {change === undefined ? null : <InSet {...{ editor, change }} />}
      {state.status === "ARCHIVED" ? <div class="schema-notice">{t("schema.archived")}</div> : null}
      <FaultList editor={editor} />
      <Panes {...{ editor, view, open }} />
      {opened === undefined ? null : (
        <OpenDialog {...{ opened, editor, by }} onClose={() => open(undefined)} />
      )}
    </Page>
  );
}

/** Returns the requests that this page sends, as sample code. */
function samplesOf({ orb: id, change, base }: Editor): { name: string; sample: Sample }[] {
  const { revision } = base.value.state;
  const url = `${location.origin}${orbPath(id)}`;
  if (change !== undefined) {
    const query = new URLSearchParams({ change });
    return [
      { name: t("entry.saveInSet"), sample: { method: "PUT", url, query, file: `${id}.json`, revision } },
      { name: t("schema.read"), sample: { method: "GET", url, query } },
    ];
  }
  const query = new URLSearchParams({ publish: "true" });
  return [
    { name: t("schema.saveAndPublish"), sample: { method: "PUT", url, query, file: `${id}.json`, revision } },
    { name: t("schema.publishDraft"), sample: { method: "POST", url: `${url}/publish`, revision } },
    { name: t("schema.read"), sample: { method: "GET", url } },
  ];
}

export default function SchemaPage({ params: { orb: id = "" } }: { params: PageParams }) {
  const change = changeIn(id);
  const orb = useLoad(documentKey(id, change), (signal) => readDocument(id, change, signal));
  if (orb.data !== undefined)
    return <Workspace key={`${id} ${change ?? ""}`} orb={orb.data} newest={orb.data} change={change} />;
  return (
    <Page title={t("schema.title")} path={[{ label: id, to: orbLink(id) }]} wide>
      <Shows of={orb}>{() => null}</Shows>
    </Page>
  );
}
