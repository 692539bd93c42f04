/** The state of a change set, as far as it matters for a form that writes into the set. */
import { useLocation, useSearchParams } from "wouter-preact";
import { isProblem } from "../../../../shared/client/problem.ts";
import { isActive, readChange } from "../../api/changes.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../api/entries.ts";
import type { Content } from "../../model/cells.ts";
import { orbLink } from "../../shell/nav.ts";
import { setsKey } from "../../state/change.ts";
import { leaveFreely } from "../../state/leave.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { complain } from "../../ui/toast.tsx";
import { Notice } from "./notice.tsx";
import type { Draft } from "./state/draft.ts";
import { forgetDraft } from "./state/kept.ts";
import type { Waiting } from "./state/waiting.ts";

interface WithinProps {
  place: EntryPlace;
  entry: EntryItem | undefined;
  /** Content of a new entry. */
  start: Content;
  draft: Draft;
  /** Returns the key under which the tab stores unsaved changes. */
  keyOf: (id: string, place?: EntryPlace) => string;
  waiting: Waiting;
}

/** Reads an entry; returns undefined if there is none any longer. */
const readUnlessGone = (place: EntryPlace, id: string): Promise<EntryItem | undefined> =>
  readEntry(place, id).catch((error: unknown) => {
    if (isProblem(error) && (error.status === 404 || error.status === 410)) return undefined;
    throw error;
  });

/** Leaves the set with the unsaved changes: to the entry itself, or to a new entry if there is none. */
function useCarryOut({ place, entry, start, draft, keyOf }: WithinProps): () => Promise<void> {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const from = search.get("from") ?? "";
  return async () => {
    const outside: EntryPlace = { ...place, change: undefined };
    const found = entry === undefined ? undefined : await readUnlessGone(outside, entry.id);
    if (found === undefined) draft.carry({ ...start, revision: 0 }, start, keyOf(`new/${from}`, outside));
    else draft.carry(found, draft.base.content, keyOf(found.id, outside));
    forgetDraft(keyOf(entry?.id ?? `new/${from}`));
    leaveFreely();
    const query = new URLSearchParams(found === undefined && from !== "" ? { from } : {});
    query.set("change", "");
    go(`${orbLink(place.orb, "entries", place.module, place.schema, found?.id ?? "new")}?${query}`);
  };
}

/** Says that a save ends the approvals of the set, or that the set takes nothing any longer. */
export function WithinSet(props: WithinProps) {
  const { place, draft, waiting } = props;
  const { orb, managed, change } = place;
  const carryOut = useCarryOut(props);
  const { data } = useLoad(change === undefined ? null : setsKey(orb, change, "set"), (signal) =>
    readChange({ orb, managed }, change ?? "", signal),
  );
  if (data === undefined || data.state === "OPEN") return null;
  if (isActive(data)) return <Notice icon="info">{t("changes.endsReview")}</Notice>;
  return (
    <Notice icon="triangleAlert">
      <p>{t("changes.over")}</p>
      {draft.changed.length === 0 || waiting.text !== undefined ? null : (
        <Button size="small" onClick={() => void carryOut().catch(complain)}>
          {t("changes.carry")}
        </Button>
      )}
    </Notice>
  );
}
