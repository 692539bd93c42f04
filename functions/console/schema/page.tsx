/** The schema editor: the document of an application as a form and as JSON. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { isProblem } from "../../../shared/client/problem.ts";
import { adminNames } from "../api/documents.ts";
import { moveOrb, type OrbDocument, orbPath, readOrb } from "../api/orbs.ts";
import type { Sample } from "../model/code.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { isMac, shownKey, useCommands } from "../state/commands.ts";
import { useLeaveGuard } from "../state/leave.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge, StateBadge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { CodeDialog } from "../ui/code.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { Page } from "../ui/page.tsx";
import { Shows } from "../ui/states.tsx";
import { complain, say } from "../ui/toast.tsx";
import { CheckState, useView, Views } from "./bar.tsx";
import { ConflictDialog } from "./conflict.tsx";
import { baseOf, Editor } from "./document/editor.ts";
import { FaultList } from "./form/faults.tsx";
import { Form } from "./form/forms.tsx";
import { JsonPane } from "./json-pane.tsx";
import { NewModule } from "./new-module.tsx";
import { Review } from "./review.tsx";
import { SaveTemplate } from "./save-template.tsx";
import { Tree } from "./tree.tsx";
import { WebhookSecret } from "./webhook-secret.tsx";

type Opened = "review" | "conflict" | "module" | "code" | undefined;

/**
 * Handles ⌘Z and ⇧⌘Z on the whole page. The browser's own undo would change only one input, not form and JSON
 * together.
 */
function useUndoKeys(editor: Editor): void {
  useEffect(() => {
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

function Workspace({ orb, newest }: { orb: OrbDocument; newest: OrbDocument }) {
  const [, navigate] = useLocation();
  const editor = useMemo(
    () => new Editor(orb, new URLSearchParams(location.search).get("at") ?? ""),
    [orb.id],
  );
  const [view, setView] = useView();
  const [opened, setOpened] = useState<Opened>();
  /** JSON Pointer to the module that the user is saving as a template. */
  const [template, setTemplate] = useState<string>();
  /** Id of the webhook for which the user is creating a secret. */
  const [hook, setHook] = useState<string>();
  const [saving, setSaving] = useState(false);
  const names = useLoad("admins/names", adminNames).data;
  const dirty = editor.dirty.value;
  const broken = editor.broken.value;
  const theirs = editor.theirs.value;
  const selected = editor.selected.value;
  const { document } = editor;
  const { state } = editor.base.value;
  const by = theirs === undefined ? "" : (names?.get(theirs.state.updatedBy) ?? t("schema.someone"));

  useEffect(() => {
    editor.start();
    if (editor.restored) say(t("schema.restored"));
    return () => editor.stop();
  }, [editor]);
  useEffect(() => editor.meet(baseOf(newest)), [newest]);
  useEffect(() => {
    const query = selected === "" ? "" : `?at=${encodeURIComponent(selected)}`;
    navigate(`${orbLink(orb.id, "schema")}${query}`, { replace: true });
  }, [selected]);
  useUndoKeys(editor);
  useLeaveGuard(dirty, () =>
    confirm({
      title: t("schema.leave"),
      text: t("schema.leaveText"),
      action: t("schema.leaveAction"),
    }),
  );

  const save = async () => {
    if (!editor.dirty.value || saving) return;
    if (editor.broken.value) return say(t("schema.broken"));
    if (editor.theirs.value !== undefined) return setOpened("conflict");
    setSaving(true);
    try {
      await editor.save({});
      say(t("schema.saved"));
    } catch (error) {
      if (editor.theirs.value !== undefined) setOpened("conflict");
      else if (isProblem(error) && error.errors.length > 0)
        say(t("schema.notSaved", { count: error.errors.length }));
      else complain(error);
    } finally {
      setSaving(false);
    }
  };
  const move = async (how: "unpublish" | "restore") => {
    const sure =
      how === "restore" ||
      (await confirm({
        title: t("schema.unpublishTitle", { orb: titleOf(orb) }),
        text: t("schema.unpublishText"),
        action: t("schema.unpublish"),
        danger: true,
      }));
    if (!sure) return;
    try {
      editor.took(await moveOrb(orb.id, state.revision, how));
      say(t(how === "unpublish" ? "schema.unpublished" : "schema.unarchived"));
    } catch (error) {
      await editor.look();
      complain(error);
    }
  };
  const discard = () => {
    const before = document.value;
    editor.discard();
    say(t("schema.discarded"), { label: t("schema.undo"), run: () => editor.edit(before) });
  };
  const review = () => setOpened(editor.theirs.value === undefined ? "review" : "conflict");
  const publishable = !broken && (dirty || state.publishedRevision !== state.revision);
  useCommands(
    () => [
      {
        id: "schema.save",
        title: t("schema.save"),
        group: t("schema.title"),
        key: "mod+s",
        run: () => void save(),
      },
      { id: "schema.review", title: t("schema.review"), group: t("schema.title"), run: review },
      {
        id: "schema.module",
        title: t("schema.newModule"),
        group: t("schema.title"),
        key: "n",
        run: () => {
          if (!editor.broken.value) setOpened("module");
        },
      },
    ],
    [editor, saving],
  );
  return (
    <Page
      title={t("schema.title")}
      path={[{ label: titleOf(orb), to: orbLink(orb.id) }]}
      wide
      lead={
        <span class="schema-state">
          <StateBadge of={state} />
          {dirty ? <Badge tone="warning">{t("schema.unsaved")}</Badge> : null}
          <CheckState editor={editor} />
        </span>
      }
      actions={
        <>
          <Views view={view} setView={setView} />
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
          <Button busy={saving} disabled={!dirty || broken} onClick={() => void save()}>
            {t("schema.save")}
          </Button>
          <Button kind="primary" disabled={!publishable} onClick={review}>
            {t("schema.review")}
          </Button>
          <Menu
            class="button quiet square"
            label={t("schema.actions")}
            button={<Icon name="ellipsis" />}
            items={[
              {
                label: t("revisions.title"),
                icon: "history",
                run: () => navigate(orbLink(orb.id, "history")),
              },
              { label: t("api.button"), icon: "code", run: () => setOpened("code") },
              { label: t("schema.discard"), icon: "undo", disabled: !dirty, run: discard },
              state.status === "ARCHIVED"
                ? { label: t("schema.unarchive"), icon: "archive", run: () => void move("restore") }
                : {
                    label: t("schema.unpublish"),
                    icon: "lock",
                    danger: true,
                    disabled: state.publishedRevision === null || dirty,
                    run: () => void move("unpublish"),
                  },
            ]}
          />
        </>
      }
    >
      {theirs === undefined ? null : (
        <div class="notice conflict" role="alert">
          <p>{t("conflict.notice", { name: by, revision: theirs.state.revision })}</p>
          <Button size="small" onClick={() => setOpened("conflict")}>
            {t("conflict.open")}
          </Button>
        </div>
      )}
      {state.status === "ARCHIVED" ? <div class="schema-notice">{t("schema.archived")}</div> : null}
      <FaultList editor={editor} />
      <div class={`editor view-${view}`}>
        {view === "json" ? null : (
          <>
            <Tree editor={editor} onNew={() => setOpened("module")} />
            <fieldset class="schema-form" disabled={broken}>
              <legend class="sr-only">{t("schema.view_form")}</legend>
              {broken ? <p class="schema-notice">{t("schema.brokenForm")}</p> : null}
              <Form
                editor={editor}
                onNew={() => setOpened("module")}
                onTemplate={setTemplate}
                onSecret={setHook}
              />
            </fieldset>
          </>
        )}
        {view === "form" ? null : <JsonPane editor={editor} />}
      </div>
      {opened === "module" ? <NewModule editor={editor} onClose={() => setOpened(undefined)} /> : null}
      {template === undefined ? null : (
        <SaveTemplate editor={editor} path={template} onClose={() => setTemplate(undefined)} />
      )}
      {hook === undefined ? null : (
        <WebhookSecret orb={editor.orb} hook={hook} onClose={() => setHook(undefined)} />
      )}
      {opened === "code" ? (
        <CodeDialog samples={samplesOf(orb.id, state.revision)} onClose={() => setOpened(undefined)} />
      ) : null}
      {opened === "review" ? <Review editor={editor} onClose={() => setOpened(undefined)} /> : null}
      {opened === "conflict" && theirs !== undefined ? (
        <ConflictDialog editor={editor} theirs={theirs} name={by} onClose={() => setOpened(undefined)} />
      ) : null}
    </Page>
  );
}

/** Returns the requests that this page sends, as sample code. */
function samplesOf(id: string, revision: number): { name: string; sample: Sample }[] {
  const url = `${location.origin}${orbPath(id)}`;
  const query = new URLSearchParams({ publish: "true" });
  return [
    { name: t("schema.saveAndPublish"), sample: { method: "PUT", url, query, file: `${id}.json`, revision } },
    { name: t("schema.publishDraft"), sample: { method: "POST", url: `${url}/publish`, revision } },
    { name: t("schema.read"), sample: { method: "GET", url } },
  ];
}

export default function SchemaPage({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useLoad(`document/${id}`, (signal) => readOrb(id, signal));
  if (orb.data !== undefined) return <Workspace key={id} orb={orb.data} newest={orb.data} />;
  return (
    <Page title={t("schema.title")} path={[{ label: id, to: orbLink(id) }]} wide>
      <Shows of={orb}>{() => null}</Shows>
    </Page>
  );
}
