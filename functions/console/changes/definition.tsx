/** What a change set changes in the definition of the orb. */
import type { ChangeSet, DefinitionDiff } from "../api/changes.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";

/** @param diff null for callers who may not read definitions */
export function SetDefinition({ set, diff }: { set: ChangeSet; diff: DefinitionDiff | null }) {
  if (set.definition === null) return null;
  return (
    <section class="card" aria-labelledby="definition">
      <h2 id="definition">{t("changes.definition")}</h2>
      {diff === null ? (
        <p class="hint">{t("changes.definitionHidden")}</p>
      ) : (
        <>
          {diff.conflict ? (
            <p>
              <Badge tone="bad">{t("changes.conflict")}</Badge> {t("changes.definitionMoved")}
            </p>
          ) : null}
          {diff.force ? <p>{t("changes.definitionForce")}</p> : null}
          <ul>
            {diff.summary.map((line) => (
              <li key={line} dir="auto">
                {line}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
