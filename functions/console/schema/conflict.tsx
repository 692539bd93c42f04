/** Resolves an edit conflict: shows both versions, and merges them. */
import { useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { exactTime } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";
import { type Base, type Editor, printed } from "./document/editor.ts";
import { differences, merge, type Way } from "./document/merge.ts";
import { JsonDiff } from "./json-diff.tsx";
import { brief, Changes, wordsOf, wordsOfWay } from "./words.tsx";

const keyOf = (way: Way) => way.join("\n");

export function ConflictDialog({
  editor,
  theirs,
  name,
  onClose,
}: {
  editor: Editor;
  theirs: Base;
  /** Name of the other user. */
  name: string;
  onClose: () => void;
}) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, "mine" | "theirs">>(new Map());
  const base = editor.base.value.document;
  const mine = editor.document.value;
  const { merged, clashes } = merge(base, mine, theirs.document, (way) => chosen.get(keyOf(way)) ?? "mine");
  const open = clashes.filter(({ way }) => !chosen.has(keyOf(way))).length;
  const take = (document: typeof mine, text: string) => {
    editor.rebase(theirs, document);
    say(text, { label: t("schema.undo"), run: () => editor.edit(mine) });
    onClose();
  };
  return (
    <Dialog
      title={t("conflict.title")}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{t("conflict.later")}</Button>
          <Button onClick={() => take(theirs.document, t("conflict.took"))}>{t("conflict.take")}</Button>
          <Button kind="primary" disabled={open > 0} onClick={() => take(merged, t("conflict.merged"))}>
            {t("conflict.merge")}
          </Button>
        </>
      }
    >
      <div class="review">
        <p>
          {t("conflict.lead", {
            name,
            revision: theirs.state.revision,
            time: exactTime(theirs.state.updatedAt),
          })}
        </p>
        <div class="pair">
          <section>
            <h3>{t("conflict.theirs", { name })}</h3>
            <Changes of={differences(base, theirs.document).map(wordsOf)} />
          </section>
          <section>
            <h3>{t("conflict.mine")}</h3>
            <Changes of={differences(base, mine).map(wordsOf)} />
          </section>
        </div>
        {clashes.length === 0 ? (
          <p class="hint">{t("conflict.none")}</p>
        ) : (
          <section>
            <h3>{t("conflict.choose", { count: clashes.length })}</h3>
            {clashes.map(({ way, mine: own, theirs: other }) => (
              <fieldset class="clash" key={keyOf(way)}>
                <legend>{wordsOfWay(way)}</legend>
                {(["mine", "theirs"] as const).map((side) => (
                  <label class="check" key={side}>
                    <input
                      type="radio"
                      name={keyOf(way)}
                      checked={chosen.get(keyOf(way)) === side}
                      onChange={() => setChosen(new Map([...chosen, [keyOf(way), side]]))}
                    />
                    <span>
                      {side === "mine" ? t("conflict.yours") : t("conflict.of", { name })}{" "}
                      <code>{brief(side === "mine" ? own : other)}</code>
                    </span>
                  </label>
                ))}
              </fieldset>
            ))}
          </section>
        )}
        <details>
          <summary>{t("conflict.json", { name })}</summary>
          <JsonDiff label={t("conflict.json", { name })} from={printed(theirs.document)} to={printed(mine)} />
        </details>
      </div>
    </Dialog>
  );
}
