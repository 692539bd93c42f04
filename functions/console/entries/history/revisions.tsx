/** The revisions of an entry, to choose two of them. */
import type { RevisionItem } from "../../api/entries.ts";
import { has, t } from "../../texts/t.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Time } from "../../ui/time.tsx";

const operationText = (operation: string): string => {
  const key = `history.${operation}`;
  return has(key) ? t(key) : operation;
};

export function Revisions({
  items,
  from,
  to,
  nameOf,
  onChange,
  restore,
}: {
  items: readonly RevisionItem[];
  from: number;
  to: number;
  nameOf: (id: string) => string;
  onChange: (from: number, to: number) => void;
  /** Restores a revision. Undefined if the caller may not change the entry. */
  restore: ((revision: number) => void) | undefined;
}) {
  const newest = items[0]?.revision ?? 0;
  const live = items[0]?.publishedRevision ?? null;
  return (
    <ol class="entry-revisions">
      {items.map(({ revision, operation, at, by, through, imported }) => (
        <li key={revision} class={revision === from || revision === to ? "compared" : ""}>
          <div class="revision-picks">
            <input
              type="radio"
              name="from"
              aria-label={t("history.pickFrom", { revision })}
              checked={revision === from}
              onChange={() => onChange(revision, to)}
            />
            <input
              type="radio"
              name="to"
              aria-label={t("history.pickTo", { revision })}
              checked={revision === to}
              onChange={() => onChange(from, revision)}
            />
          </div>
          <div class="revision-words">
            <strong>{operationText(operation)}</strong>
            {revision === live ? <Badge tone="good">{t("entry.live")}</Badge> : null}
            {imported === true ? <Badge>{t("history.imported")}</Badge> : null}
            <p class="hint">
              {t("history.number", { revision })} · {nameOf(by)} · <Time at={at} />
              {through === undefined ? null : ` · ${through}`}
            </p>
          </div>
          {restore === undefined || revision === newest || operation === "delete" ? null : (
            <Button
              size="small"
              icon="undo"
              aria-label={t("history.restoreNumber", { revision })}
              onClick={() => restore(revision)}
            >
              {t("history.restoreIt")}
            </Button>
          )}
        </li>
      ))}
    </ol>
  );
}
