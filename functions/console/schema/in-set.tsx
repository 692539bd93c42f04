/** What is different while the document is edited within a change set. */
import { readChange, withdrawDefinition } from "../api/changes.ts";
import { orbLink } from "../shell/nav.ts";
import { refresh } from "../state/cache.ts";
import { setsKey } from "../state/change.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { confirm } from "../ui/dialog.tsx";
import { LinkButton } from "../ui/link.tsx";
import type { MenuItem } from "../ui/menu.tsx";
import { complain, say } from "../ui/toast.tsx";
import { type Editor, readDocument } from "./document/editor.ts";

/** Returns the set. Its key is that of the bar at the top of the screen. */
function useSet({ orb, change }: Editor) {
  return useLoad(change === undefined ? null : setsKey(orb, change, "set"), (signal) =>
    readChange({ orb, managed: true }, change ?? "", signal),
  ).data;
}

/** Says what the set does with the document, and whether the orb has published another one meanwhile. */
export function InSet({ editor, change }: { editor: Editor; change: string }) {
  const definition = useSet(editor)?.definition;
  const { publishedRevision } = editor.base.value.state;
  const isBehind = definition !== undefined && definition !== null && definition.base !== publishedRevision;
  return (
    <div class={`schema-notice ${isBehind ? "" : "calm"}`} role={isBehind ? "alert" : undefined}>
      <p>{t(isBehind ? "schema.inSetBehind" : definition ? "schema.inSetText" : "schema.inSetNone")}</p>
      <LinkButton to={orbLink(editor.orb, "changes", change)} small>
        {t("schema.inSetOpen")}
      </LinkButton>
    </div>
  );
}

/** Returns the menu item that takes the document out of the set. */
export function useTakeOut(editor: Editor): MenuItem {
  const isThere = (useSet(editor)?.definition ?? null) !== null;
  const { orb, change } = editor;
  const run = async () => {
    const sure = await confirm({
      title: t("changes.definitionOutTitle"),
      text: t("changes.definitionOutText"),
      action: t("changes.takeOut"),
      danger: true,
    });
    if (!sure || change === undefined) return;
    try {
      await withdrawDefinition(orb, change);
      editor.edit(editor.base.value.document);
      editor.took(await readDocument(orb, change));
      say(t("changes.definitionOut"));
    } catch (error) {
      complain(error);
    } finally {
      refresh(`orbs/${orb}`);
    }
  };
  return {
    label: t("changes.definitionOutTitle"),
    icon: "x",
    danger: true,
    disabled: !isThere,
    run: () => void run(),
  };
}
