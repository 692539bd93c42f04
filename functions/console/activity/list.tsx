/** The list of what happened in an application or to an entry, page by page. The first page stays up to date. */
import { useEffect, useState } from "preact/hooks";
import type { OrbModel } from "../model/orb.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Empty, Shows } from "../ui/states.tsx";
import { Pager } from "../ui/table.tsx";
import { ActivityLines, readActivity } from "./lines.tsx";

/** Acts on a page. */
const PAGE = 30;
/** Milliseconds after which the first page is read again while it is in view. */
const RENEWED_MS = 10_000;

interface ListProps {
  orb: OrbModel;
  /** Parameters of the request, such as `filter[entry]`. */
  filter: Readonly<Record<string, string>>;
}

export function ActivityList(props: ListProps) {
  // A cursor belongs to one filter, so another filter begins with the first page.
  return <Pages key={JSON.stringify(props.filter)} {...props} />;
}

function Pages({ orb, filter }: ListProps) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const of = JSON.stringify(filter);
  const acts = useLoad(`orbs/${orb.id}/activity/${of}/${cursor ?? ""}`, (signal) =>
    readActivity(orb.id, { ...filter, limit: PAGE, cursor }, signal),
  );
  useEffect(() => {
    if (cursor !== undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void acts.reload();
    }, RENEWED_MS);
    return () => clearInterval(timer);
  }, [of, cursor]);
  return (
    <Shows of={acts}>
      {({ items, named, nextCursor }) => (
        <>
          {items.length > 0 ? (
            <ActivityLines opens label={t("activity.title")} {...{ orb, items, named }} />
          ) : nextCursor === null ? (
            <Empty icon="activity" title={t("activity.nothing")} />
          ) : (
            <p class="hint">{t("activity.searchOn")}</p>
          )}
          <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
        </>
      )}
    </Shows>
  );
}
