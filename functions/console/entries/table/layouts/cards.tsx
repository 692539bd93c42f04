/** The entries of a list as cards with their images. */
import { useEffect, useState } from "preact/hooks";
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import { titleField } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { Empty, Loading } from "../../../ui/states.tsx";
import { imageOf } from "../data/layout.ts";
import { Card, type LayoutProps } from "./card.tsx";

/** Cards of a page. */
const PAGE = 48;

interface CardsProps extends LayoutProps {
  place: EntryPlace;
  conditions: URLSearchParams;
}

interface Known {
  items: readonly EntryItem[];
  /** Cursor of the next page; null at the end. */
  next: string | null;
  error?: unknown;
}

export function Cards({ place, conditions, ...props }: CardsProps) {
  const { schema } = props;
  const [known, setKnown] = useState<Known>();
  const [cursor, setCursor] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams(conditions);
    const names = [titleField(schema)?.name, imageOf(schema)?.name].filter((name) => name !== undefined);
    query.set("fields", names.length === 0 ? "id" : names.join(","));
    query.set("limit", String(PAGE));
    if (cursor !== undefined) query.set("cursor", cursor);
    listEntries(place, { query, signal: abort.signal }).then(
      ({ items, nextCursor }) =>
        setKnown((old) => ({ items: [...(old?.items ?? []), ...items], next: nextCursor })),
      (error: unknown) => {
        if (!abort.signal.aborted)
          setKnown((old) => ({ items: old?.items ?? [], next: cursor ?? null, error }));
      },
    );
    return () => abort.abort();
  }, [cursor, attempt]);
  if (known === undefined) return <Loading />;
  const { next, error } = known;
  return (
    <>
      <ul class="entry-cards">
        {known.items.map((item) => (
          <li key={item.id} class="entry-card">
            <Card {...{ item, ...props }} />
          </li>
        ))}
      </ul>
      {error === undefined ? null : <ProblemBox error={error} retry={() => setAttempt(attempt + 1)} />}
      {known.items.length > 0 || next !== null || error !== undefined ? null : (
        <Empty icon="search" title={t("table.noMatch")} />
      )}
      {next === null || error !== undefined ? null : (
        <Button onClick={() => setCursor(next)}>{t("table.moreCards")}</Button>
      )}
    </>
  );
}
