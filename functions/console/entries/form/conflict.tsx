/** Resolves an edit conflict. The user chooses one version of each value, and then saves. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { EntryItem } from "../../api/entries.ts";
import {
  type Cell,
  type Conflict,
  type Content,
  compareChanges,
  pointerOf,
  withValue,
} from "../../model/cells.ts";
import type { OrbModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { StateBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";
import { cellLabel } from "../difference.tsx";
import { Pair } from "../pair.tsx";

type Side = "mine" | "theirs";

function Row({
  conflict: { cell, mine, theirs, by },
  orb,
  chosen,
  choose,
}: {
  conflict: Conflict;
  orb: OrbModel;
  chosen: Side | undefined;
  choose: (side: Side) => void;
}) {
  const name = pointerOf(cell);
  const side = (which: Side, value: ComponentChildren, text: string) => (
    <label class={`conflict-side ${chosen === which ? "chosen-side" : ""}`}>
      <span>
        <input type="radio" name={name} checked={chosen === which} onChange={() => choose(which)} />
        <strong>{text}</strong>
      </span>
      <div lang={cell.language}>{value}</div>
    </label>
  );
  return (
    <fieldset class="entry-conflict">
      <legend>
        {cellLabel(cell)}
        {by === "both" ? <span class="error"> {t("entry.bothChanged")}</span> : null}
      </legend>
      <Pair {...{ cell, orb }} before={theirs} after={mine}>
        {(their, my) => (
          <>
            {side("theirs", their, t(by === "me" ? "entry.before" : "entry.theirs"))}
            {side("mine", my, t(by === "them" ? "entry.before" : "entry.mine"))}
          </>
        )}
      </Pair>
    </fieldset>
  );
}

export function ConflictDialog({
  cells,
  orb,
  base,
  mine,
  theirs,
  who,
  publish,
  onClose,
  onChosen,
}: {
  cells: readonly Cell[];
  orb: OrbModel;
  base: Content;
  mine: Content;
  theirs: EntryItem;
  /** Name of the user who made the other changes. */
  who: string;
  publish: boolean;
  onClose: () => void;
  onChosen: (content: Content) => void;
}) {
  const conflicts = compareChanges(cells, base, mine, theirs);
  const [sides, setSides] = useState<Readonly<Record<string, Side>>>(() =>
    Object.fromEntries(
      conflicts.flatMap(({ cell, by }) =>
        by === "both" ? [] : [[pointerOf(cell), by === "me" ? ("mine" as const) : ("theirs" as const)]],
      ),
    ),
  );
  const open = conflicts.filter(({ cell }) => sides[pointerOf(cell)] === undefined).length;
  const save = () => {
    const content: Content = { values: theirs.values, validFrom: theirs.validFrom, validTo: theirs.validTo };
    onChosen(
      conflicts.reduce(
        (to, { cell, mine: value }) => (sides[pointerOf(cell)] === "mine" ? withValue(to, cell, value) : to),
        content,
      ),
    );
  };
  return (
    <Dialog
      wide
      title={t("entry.conflictTitle")}
      onClose={onClose}
      actions={
        <>
          {open === 0 ? null : (
            <span class="hint" role="status">
              {t("entry.choicesLeft", { count: open })}
            </span>
          )}
          <Button onClick={onClose}>{t("entry.backToForm")}</Button>
          <Button kind="primary" disabled={open > 0} onClick={save}>
            {t(publish ? "entry.savePublish" : "entry.saveDraft")}
          </Button>
        </>
      }
    >
      <p class="conflict-lead">
        {t("entry.conflictText", { who: who.slice(0, 1).toUpperCase() + who.slice(1) })}{" "}
        <Time at={theirs.updatedAt} /> <StateBadge of={theirs} />
      </p>
      {conflicts.length === 0 ? <p>{t("entry.noConflict")}</p> : null}
      {conflicts.map((conflict) => (
        <Row
          key={pointerOf(conflict.cell)}
          {...{ conflict, orb }}
          chosen={sides[pointerOf(conflict.cell)]}
          choose={(side) => setSides({ ...sides, [pointerOf(conflict.cell)]: side })}
        />
      ))}
    </Dialog>
  );
}
