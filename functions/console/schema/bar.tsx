/** The top bar of the document editor: switches between form and JSON, and shows the result of the validation. */
import { useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import type { Editor } from "./document/editor.ts";

export type View = "form" | "both" | "json";
const VIEW = "console.schema.view";

export function useView(): [View, (view: View) => void] {
  const [view, setView] = useState<View>(() => {
    const kept = localStorage.getItem(VIEW);
    if (matchMedia("(max-width: 1000px)").matches) return kept === "json" ? "json" : "form";
    return kept === "form" || kept === "json" ? kept : "both";
  });
  return [
    view,
    (next) => {
      localStorage.setItem(VIEW, next);
      setView(next);
    },
  ];
}

export function Views({ view, setView }: { view: View; setView: (view: View) => void }) {
  return (
    <fieldset class="segments">
      <legend class="sr-only">{t("schema.view")}</legend>
      {(["form", "both", "json"] as const).map((one) => (
        <label key={one} class={one === "both" ? "roomy" : ""}>
          <input type="radio" name="view" checked={view === one} onChange={() => setView(one)} />
          <span>{t(`schema.view_${one}`)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Shows the result of the platform's validation. */
export function CheckState({ editor }: { editor: Editor }) {
  const count = editor.shownFaults.value.length;
  const isComplete = editor.faults.value.length === 0;
  const state = editor.check.value;
  // A conflict must be resolved first. Until then, the document is not validated.
  if (editor.theirs.value !== undefined) return null;
  const [tone, text] = editor.broken.value
    ? (["bad", t("schema.broken")] as const)
    : state === "running"
      ? (["neutral", t("schema.checking")] as const)
      : count > 0
        ? (["bad", t("schema.faults", { count })] as const)
        : state === "failed"
          ? (["warning", t("schema.unchecked")] as const)
          : !isComplete
            ? (["neutral", t("schema.incomplete")] as const)
            : state === "done"
              ? (["good", t("schema.sound")] as const)
              : (["neutral", t("schema.unchanged")] as const);
  return (
    <span class="check-state" role="status">
      <Badge tone={tone}>{text}</Badge>
      {state === "failed" ? (
        <Button size="small" kind="quiet" icon="refresh" onClick={() => void editor.recheck()}>
          {t("problem.retry")}
        </Button>
      ) : null}
    </span>
  );
}
