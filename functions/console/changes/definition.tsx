/** What a change set changes in the definition of the orb: base, now and proposed, and the conflicts. */
import { useState } from "preact/hooks";
import {
  type ChangeSet,
  type ChangesPlace,
  type DefinitionDiff,
  type PlaceDiff,
  rebaseDefinition,
  withdrawDefinition,
} from "../api/changes.ts";
import { brief, Changes, wordsOf, wordsOfWay } from "../schema/words.tsx";
import { orbLink } from "../shell/nav.ts";
import { useAction } from "../state/action.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { LinkButton } from "../ui/link.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { say } from "../ui/toast.tsx";
import { refreshSets } from "./place.ts";

type Side = "change" | "live";

interface Shown {
  place: ChangesPlace;
  set: ChangeSet;
  diff: DefinitionDiff;
  /** Whether the caller may still change the definition in the set. */
  mayWrite: boolean;
}

/** Returns the names in a path. */
const wayOf = (path: string) =>
  path
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Describes a change. If the orb has changed the place too, also says how it is now. */
function lineOf({ path, base, now, proposed }: PlaceDiff) {
  const { tone, text } = wordsOf({ way: wayOf(path), from: base ?? undefined, to: proposed ?? undefined });
  return {
    tone,
    text: isSame(base, now) ? text : `${text} ${t("changes.definitionNow", { value: brief(now) })}`,
  };
}

function Choice({
  of: { path, now, proposed },
  chosen,
  choose,
}: {
  of: PlaceDiff;
  chosen: Side | undefined;
  choose: (side: Side) => void;
}) {
  return (
    <fieldset class="entry-conflict">
      <legend dir="auto">{wordsOfWay(wayOf(path))}</legend>
      <div class="conflict-sides">
        {(["live", "change"] as const).map((side) => (
          <label key={side} class={`conflict-side ${chosen === side ? "chosen-side" : ""}`}>
            <span>
              <input type="radio" name={path} checked={chosen === side} onChange={() => choose(side)} />
              <strong>{t(side === "live" ? "changes.keepLive" : "changes.keepSet")}</strong>
            </span>
            <code>{brief(side === "live" ? now : proposed)}</code>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Merges the definition with the one that the orb has published since. The user chooses a side for each conflict. */
function Merge({ place, set, diff, mayWrite }: Shown) {
  const [sides, setSides] = useState<Readonly<Record<string, Side>>>({});
  const { busy, error, run } = useAction();
  const places = diff.conflicts.flatMap((path) => diff.differences.find((one) => one.path === path) ?? []);
  const open = places.filter(({ path }) => sides[path] === undefined).length;
  const merge = () =>
    run(async () => {
      try {
        await rebaseDefinition(place.orb, set.id, diff.revision, sides);
        say(t("changes.definitionMerged"));
      } finally {
        refreshSets(place.orb);
      }
    });
  return (
    <div class="change-conflicts">
      <p>
        {places.length === 0 ? null : <Badge tone="bad">{t("changes.conflict")}</Badge>}{" "}
        {t(places.length > 0 ? "changes.definitionConflictText" : "changes.definitionBehind")}
      </p>
      {error === undefined ? null : <ProblemBox error={error} />}
      {mayWrite ? (
        <>
          {places.map((one) => (
            <Choice
              key={one.path}
              of={one}
              chosen={sides[one.path]}
              choose={(side) => setSides({ ...sides, [one.path]: side })}
            />
          ))}
          <div class="change-buttons">
            <Button kind="primary" size="small" busy={busy} disabled={open > 0} onClick={() => void merge()}>
              {t("changes.definitionMerge")}
            </Button>
            {open === 0 ? null : (
              <span class="hint" role="status">
                {t("entry.choicesLeft", { count: open })}
              </span>
            )}
          </div>
        </>
      ) : null}
    </div>
  );
}

function Steps({ place, set }: Omit<Shown, "diff" | "mayWrite">) {
  const { busy, error, run } = useAction();
  const takeOut = () =>
    run(async () => {
      const sure = await confirm({
        title: t("changes.definitionOutTitle"),
        text: t("changes.definitionOutText"),
        action: t("changes.takeOut"),
        danger: true,
      });
      if (!sure) return;
      try {
        await withdrawDefinition(place.orb, set.id);
        say(t("changes.definitionOut"));
      } finally {
        refreshSets(place.orb);
      }
    });
  return (
    <>
      {error === undefined ? null : <ProblemBox error={error} />}
      <div class="change-buttons">
        <LinkButton
          to={`${orbLink(place.orb, "schema")}?change=${encodeURIComponent(set.id)}`}
          icon="pencil"
          small
        >
          {t("changes.definitionEdit")}
        </LinkButton>
        <Button kind="quiet" size="small" icon="x" busy={busy} onClick={() => void takeOut()}>
          {t("changes.definitionOutTitle")}
        </Button>
      </div>
    </>
  );
}

/** @param props.diff null for callers who may not read definitions */
export function SetDefinition({ diff, ...props }: Omit<Shown, "diff"> & { diff: DefinitionDiff | null }) {
  const { place, set, mayWrite } = props;
  if (set.definition === null) return null;
  return (
    <section class="card" aria-labelledby="definition">
      <h2 id="definition">{t("changes.definition")}</h2>
      {diff === null ? (
        <p class="hint">{t("changes.definitionHidden")}</p>
      ) : (
        <>
          {diff.conflict ? <Merge {...{ ...props, diff }} /> : null}
          {diff.force ? <p>{t("changes.definitionForce")}</p> : null}
          <Changes of={diff.differences.map(lineOf)} />
          {mayWrite ? <Steps {...{ place, set }} /> : null}
        </>
      )}
    </section>
  );
}
