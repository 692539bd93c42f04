/** Resolves an edit conflict: shows both versions, and merges them. */
import { useState } from "preact/hooks";
import { merge } from "../../../shared/differences/merge.ts";
import { type Difference, differencesIn, nameIn, valueIn } from "../../../shared/differences/named.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { exactTime } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";
import { type Base, type Editor, printed } from "./document/editor.ts";
import { isObject, type JsonObject } from "./document/pointer.ts";
import { JsonDiff } from "./json-diff.tsx";
import { brief, Changes, wordsOf, wordsOfWay } from "./words.tsx";

type Side = "mine" | "theirs";

const keyOf = (way: Difference["way"]) => way.join("\n");

/** Lets the user choose one of the two values. */
function Clash({
  way,
  name,
  mine,
  theirs,
  chosen,
  choose,
}: {
  way: Difference["way"];
  name: string;
  mine: JsonObject;
  theirs: JsonObject;
  chosen: Side | undefined;
  choose: (side: Side) => void;
}) {
  return (
    <fieldset class="clash">
      <legend>{wordsOfWay(way)}</legend>
      {(["mine", "theirs"] as const).map((side) => (
        <label class="check" key={side}>
          <input type="radio" name={keyOf(way)} checked={chosen === side} onChange={() => choose(side)} />
          <span>
            {side === "mine" ? t("conflict.yours") : t("conflict.of", { name })}{" "}
            <code>{brief(valueIn(side === "mine" ? mine : theirs, way))}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

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
  const [chosen, setChosen] = useState<ReadonlyMap<string, Side>>(new Map());
  const base = editor.base.value.document;
  const mine = editor.document.value;
  const { value, conflicts } = merge(base, theirs.document, mine, {
    keyOf: nameIn,
    isTheirs: (way) => chosen.get(keyOf(way)) === "theirs",
  });
  const merged = isObject(value) ? value : mine;
  const open = conflicts.filter((way) => !chosen.has(keyOf(way))).length;
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
            <Changes of={differencesIn(base, theirs.document).map(wordsOf)} />
          </section>
          <section>
            <h3>{t("conflict.mine")}</h3>
            <Changes of={differencesIn(base, mine).map(wordsOf)} />
          </section>
        </div>
        {conflicts.length === 0 ? (
          <p class="hint">{t("conflict.none")}</p>
        ) : (
          <section>
            <h3>{t("conflict.choose", { count: conflicts.length })}</h3>
            {conflicts.map((way) => (
              <Clash
                key={keyOf(way)}
                {...{ way, name, mine }}
                theirs={theirs.document}
                chosen={chosen.get(keyOf(way))}
                choose={(side) => setChosen(new Map([...chosen, [keyOf(way), side]]))}
              />
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
