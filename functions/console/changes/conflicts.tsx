/** Solves the conflicts of an entry in a change set: the user chooses the live value or that of the set for each. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ChangesPlace, type EntryDiff, rebaseEntry } from "../api/changes.ts";
import { cellLabel } from "../entries/difference.tsx";
import { Pair } from "../entries/pair.tsx";
import { type Cell, pointerOf, valueAt } from "../model/cells.ts";
import type { OrbModel, SchemaModel } from "../model/orb.ts";
import { useAction } from "../state/action.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { say } from "../ui/toast.tsx";
import { cellsIn, contentWith } from "./fields.tsx";
import { refreshSets } from "./place.ts";

type Side = "change" | "live";

interface Place {
  item: EntryDiff;
  schema: SchemaModel | undefined;
  orb: OrbModel;
}

/** A conflict in a value: the value of now, and the one of the set. */
interface InValue {
  path: string;
  cell: Cell;
  now: unknown;
  proposed: unknown;
}

/** Returns the value that a conflict is about; undefined if it is about the whole entry. */
function conflictAt(path: string, { item, schema, orb }: Place): InValue | undefined {
  const [, first = "", name = first] = path.split("/");
  const diff = item.fields.find((one) => one.name === (first === "values" ? name : first));
  if (diff === undefined) return undefined;
  const cells = cellsIn(diff.name, schema, orb);
  const cell =
    cells.find((one) => path === pointerOf(one) || path.startsWith(`${pointerOf(one)}/`)) ?? cells[0];
  if (cell === undefined) return undefined;
  return {
    path,
    cell,
    now: valueAt(contentWith(diff.name, diff.now), cell),
    proposed: valueAt(contentWith(diff.name, diff.proposed), cell),
  };
}

function Choice({
  conflict: { path, cell, now, proposed },
  item,
  orb,
  chosen,
  choose,
}: {
  conflict: InValue;
  item: EntryDiff;
  orb: OrbModel;
  chosen: Side | undefined;
  choose: (side: Side) => void;
}) {
  const side = (which: Side, value: ComponentChildren) => (
    <label class={`conflict-side ${chosen === which ? "chosen-side" : ""}`}>
      <span>
        <input
          type="radio"
          name={`${item.id} ${path}`}
          checked={chosen === which}
          onChange={() => choose(which)}
        />
        <strong>{t(which === "live" ? "changes.keepLive" : "changes.keepSet")}</strong>
      </span>
      <div lang={cell.language}>{value}</div>
    </label>
  );
  const deeper = path.slice(pointerOf(cell).length);
  return (
    <fieldset class="entry-conflict">
      <legend>
        {cellLabel(cell)} {deeper === "" ? null : <code>{deeper}</code>}
      </legend>
      <Pair {...{ cell, orb }} before={now} after={proposed}>
        {(live, own) => (
          <>
            {side("live", live)}
            {side("change", own)}
          </>
        )}
      </Pair>
    </fieldset>
  );
}

/** Says what a conflict about the whole entry means. */
function wholeText({ now, act }: EntryDiff, path: string): string {
  if (now === null) return t("changes.conflictGone");
  if (path === "/status") return t("changes.conflictOffline");
  return t(act === "publish" ? "changes.conflictDraft" : "changes.conflictMoved");
}

/**
 * Shows the conflicts of an entry, and lets the user solve them.
 * @param props.mayWrite whether the caller may solve them
 */
export function Conflicts({
  place,
  set,
  mayWrite,
  ...at
}: Place & { place: ChangesPlace; set: string; mayWrite: boolean }) {
  const { item } = at;
  const [sides, setSides] = useState<Readonly<Record<string, Side>>>({});
  const { busy, error, run } = useAction();
  if (item.conflicts.length === 0) return null;
  const values = item.conflicts.flatMap((path) => conflictAt(path, at) ?? []);
  const whole = item.conflicts.filter((path) => !values.some((one) => one.path === path));
  const open = values.filter(({ path }) => sides[path] === undefined).length;
  const solve = () =>
    run(async () => {
      try {
        await rebaseEntry(place, set, item, sides);
        say(t("changes.solved"));
      } finally {
        refreshSets(place.orb);
      }
    });
  return (
    <div class="change-conflicts">
      <p>
        <Icon name="triangleAlert" /> <strong>{t("changes.conflictTitle")}</strong>{" "}
        {values.length === 0 ? null : t("changes.conflictText")}
      </p>
      {whole.map((path) => (
        <p key={path}>{wholeText(item, path)}</p>
      ))}
      {error === undefined ? null : <ProblemBox error={error} />}
      {mayWrite ? (
        <>
          {values.map((conflict) => (
            <Choice
              key={conflict.path}
              {...{ conflict, item }}
              orb={at.orb}
              chosen={sides[conflict.path]}
              choose={(side) => setSides({ ...sides, [conflict.path]: side })}
            />
          ))}
          {item.now === null ? null : (
            <div class="change-buttons">
              <Button
                kind="primary"
                size="small"
                busy={busy}
                disabled={open > 0}
                onClick={() => void solve()}
              >
                {t(values.length > 0 ? "changes.solve" : `changes.anyway-${item.act}`)}
              </Button>
              {open === 0 ? null : (
                <span class="hint" role="status">
                  {t("entry.choicesLeft", { count: open })}
                </span>
              )}
            </div>
          )}
        </>
      ) : null}
    </div>
  );
}
