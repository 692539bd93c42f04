/** The footer of the table: position, changes by other users, and bulk actions. */
import type { ComponentChildren } from "preact";
import { formatNumber, t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { type Act, allows, type Rights } from "./bulk/bulk.ts";
import type { News } from "./data/follow.ts";
import type { Row, Rows } from "./data/rows.ts";
import type { Range } from "./grid.tsx";

const ACTS: readonly [Act, keyof Rights][] = [
  ["publish", "publish"],
  ["unpublish", "publish"],
  ["archive", "remove"],
  ["restore", "remove"],
  ["delete", "remove"],
];

/**
 * Tells the user about changes by others that the table does not show yet. Showing them would move rows, so the user
 * decides when to show them.
 */
export function Changes({ news, refresh }: { news: News; refresh: () => void }) {
  const { added, changed, gone } = news;
  const parts = [
    added > 0 ? t("table.added", { count: added }) : "",
    changed > 0 ? t("table.changed", { count: changed }) : "",
    gone > 0 ? t("table.leftList", { count: gone }) : "",
  ].filter((text) => text !== "");
  if (parts.length === 0) return null;
  return (
    <div class="new-changes" role="status">
      <span>{parts.join(" ")}</span>
      <Button size="small" icon="refresh" onClick={refresh}>
        {t("table.show")}
      </Button>
    </div>
  );
}

/** The progress of a search that takes several requests. The user can stop it, and continue it later. */
function Progress({ rows }: { rows: Rows }) {
  const { busy, searched, stopped } = rows;
  if (searched === 0 || !(busy || stopped)) return null;
  return (
    <>
      {" "}
      {t(stopped ? "table.searched" : "table.searching", { count: searched })}{" "}
      <Button size="small" onClick={() => (stopped ? rows.retry() : rows.stop())}>
        {t(stopped ? "table.continue" : "table.stop")}
      </Button>
    </>
  );
}

interface BulkBarProps {
  selected: readonly Row[];
  rights: Rights;
  /** Set while all entries are being selected. Aborting it cancels the selection. */
  collecting: AbortController | undefined;
  onAct: (act: Act) => void;
  /** Sets a value in the selected entries; undefined if the caller may change none. */
  onSet: (() => void) | undefined;
  /** Adds the selected entries to a change set; undefined if the list shows a set, or takes no changes. */
  onAdd: (() => void) | undefined;
  /** Whether the actions write into a change set. */
  inSet: boolean;
  onExport: () => void;
  onSelectAll: () => void;
  onClear: () => void;
}

/** What can be done with the selected entries. @param all number of entries in the list, if it is known */
function BulkBar({
  all,
  selected,
  rights,
  collecting,
  onAct,
  onSet,
  onAdd,
  inSet,
  onExport,
  onSelectAll,
  onClear,
}: BulkBarProps & { all: number | undefined }) {
  const possible = ACTS.filter(
    ([act, right]) => rights[right] && selected.some((item) => allows(act, item, inSet)),
  );
  return (
    <div class="bulk" role="toolbar" aria-label={t("table.selection")}>
      <strong role="status">{t("table.selected", { count: selected.length })}</strong>
      {collecting !== undefined ? (
        <Button size="small" onClick={() => collecting.abort()}>
          {t("table.stop")}
        </Button>
      ) : all === undefined || selected.length < all ? (
        <Button kind="quiet" size="small" onClick={onSelectAll}>
          {all === undefined
            ? t("table.selectEvery")
            : t("table.selectEveryOf", { total: formatNumber(all) })}
        </Button>
      ) : null}
      {collecting !== undefined
        ? null
        : possible.map(([act]) => (
            <Button
              key={act}
              size="small"
              class={act === "delete" ? "bad-text" : ""}
              onClick={() => onAct(act)}
            >
              {t(inSet && act === "publish" ? "entry.publishInSet" : `table.${act}`)}
            </Button>
          ))}
      {onSet === undefined || collecting !== undefined ? null : (
        <Button size="small" icon="pencil" onClick={onSet}>
          {t("table.setValue")}
        </Button>
      )}
      {onAdd === undefined || collecting !== undefined ? null : (
        <Button size="small" icon="gitPullRequest" onClick={onAdd}>
          {t("changes.add")}
        </Button>
      )}
      <Button size="small" icon="download" onClick={onExport}>
        {t("table.export")}
      </Button>
      <Button kind="quiet" size="small" onClick={onClear}>
        {t("table.clearSelection")}
      </Button>
    </div>
  );
}

export function Foot({
  range,
  rows,
  total,
  news,
  remedy,
  refresh,
  ...bulk
}: BulkBarProps & {
  range: Range;
  rows: Rows;
  total: number | undefined;
  news: News;
  /** What would make a slow list fast. */
  remedy: ComponentChildren;
  refresh: () => void;
}) {
  const { known, ended, busy } = rows;
  const all = ended ? known : total;
  const position = { first: Math.min(range.first + 1, range.end), last: range.end };
  return (
    <div class="grid-foot">
      {bulk.selected.length === 0 ? (
        <p class="hint number" role="status">
          {all === undefined
            ? t("table.position", position)
            : t("table.positionOf", { ...position, total: all })}
          {busy ? <span class="spinner" aria-hidden="true" /> : null}
          <Progress rows={rows} /> {known > 0 ? remedy : null}
        </p>
      ) : (
        <BulkBar all={all} {...bulk} />
      )}
      <Changes {...{ news, refresh }} />
    </div>
  );
}
