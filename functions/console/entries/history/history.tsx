/**
 * The history of an entry: its revisions, the difference between any two of them, and the entry as it was at a chosen
 * time.
 */
import { useState } from "preact/hooks";
import { useLocation, useSearchParams } from "wouter-preact";
import { ActivityList } from "../../activity/list.tsx";
import { isPlatformAdmin } from "../../api/caller.ts";
import {
  type EntryItem,
  type EntryPlace,
  listRevisions,
  type RevisionItem,
  readEntry,
  restoreRevision,
} from "../../api/entries.ts";
import { type Cell, cellsOf, plainValue, windowCells } from "../../model/cells.ts";
import { type OrbModel, titleField, titleOf } from "../../model/orb.ts";
import { orbLink, type PageParams } from "../../shell/nav.ts";
import { refresh } from "../../state/cache.ts";
import { changeIn } from "../../state/change.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Shows } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { complain, say } from "../../ui/toast.tsx";
import { Comparison } from "../comparison.tsx";
import { useNames } from "../names.ts";
import { type Place, WithSchema } from "../place.tsx";
import { rightsOf } from "../rights.ts";
import { AsOf } from "./as-of.tsx";
import { Revisions } from "./revisions.tsx";

/** Reads the revisions of an entry page by page, newest first. */
function useRevisions(place: EntryPlace, id: string) {
  const [older, setOlder] = useState<{ items: readonly RevisionItem[]; next: string | null }>();
  const first = useLoad(`orbs/${place.orb}/history/${id}`, async (signal) => {
    setOlder(undefined);
    return listRevisions(place, id, { signal });
  });
  const items = [...(first.data?.items ?? []), ...(older?.items ?? [])];
  const next = older === undefined ? (first.data?.nextCursor ?? null) : older.next;
  const loadOlder = () =>
    listRevisions(place, id, { cursor: next ?? undefined }).then(
      (page) => setOlder({ items: [...(older?.items ?? []), ...page.items], next: page.nextCursor }),
      complain,
    );
  return { first, items, next, loadOlder };
}

/** Returns the query parameters of the page, and a function that changes some of them. */
function useQuery() {
  const [search, setSearch] = useSearchParams();
  const put = (values: Readonly<Record<string, string | null>>) =>
    setSearch(
      (now) => {
        const changed = new URLSearchParams(now);
        for (const [name, value] of Object.entries(values))
          if (value === null) changed.delete(name);
          else changed.set(name, value);
        return changed;
      },
      { replace: true },
    );
  return [search, put] as const;
}

type Query = ReturnType<typeof useQuery>;

/** Makes an earlier revision the newest one. The user can undo that. */
async function restore(place: EntryPlace, entry: EntryItem, revision: number): Promise<boolean> {
  const reload = () => refresh(`orbs/${place.orb}/`);
  try {
    const made = await restoreRevision(place, entry, revision);
    reload();
    say(t("history.restored", { revision }), {
      label: t("entry.undo"),
      run: () => void restoreRevision(place, made, entry.revision).then(reload, complain),
    });
    return true;
  } catch (error) {
    complain(error);
    reload();
    return false;
  }
}

/** The revisions, and the difference between the two that the user has picked. */
function ByRevision({
  place,
  id,
  orb,
  cells,
  nameOf,
  onRestore,
  query: [search, put],
}: {
  place: EntryPlace;
  id: string;
  orb: OrbModel;
  cells: readonly Cell[];
  nameOf: (id: string) => string;
  /** Undefined if the caller may not change the entry. */
  onRestore: ((revision: number) => void) | undefined;
  query: Query;
}) {
  const { first, items, next, loadOlder } = useRevisions(place, id);
  const newest = items[0]?.revision ?? 1;
  const to = Number(search.get("to") ?? newest);
  const from = Number(search.get("from") ?? Math.max(1, to - 1));
  return (
    <Shows of={first}>
      {() => (
        <div class="entry-history">
          <div class="card">
            <p class="hint revision-head">{t("history.pick")}</p>
            <Revisions
              {...{ items, from, to, nameOf }}
              onChange={(one, other) => put({ from: String(one), to: String(other) })}
              restore={onRestore}
            />
            {next === null ? null : <Button onClick={() => void loadOlder()}>{t("history.older")}</Button>}
          </div>
          {from === to ? (
            <p class="card hint">
              {t(items.length === 1 && next === null ? "history.only" : "history.pickTwo")}
            </p>
          ) : (
            <Comparison {...{ place, id, orb, cells }} from={Math.min(from, to)} to={Math.max(from, to)} />
          )}
        </div>
      )}
    </Shows>
  );
}

function History({ place: { caller, orb, module, schema }, id }: { place: Place; id: string }) {
  const [, go] = useLocation();
  const query = useQuery();
  const [search, put] = query;
  const place: EntryPlace = {
    orb: orb.id,
    module: module.id,
    schema: schema.id,
    managed: isPlatformAdmin(caller),
  };
  const list = orbLink(orb.id, "entries", module.id, schema.id);
  const page = `${list}/${encodeURIComponent(id)}`;
  const nameOf = useNames(caller, orb.id);
  const entry = useLoad(`orbs/${orb.id}/history-entry/${id}`, (signal) =>
    readEntry(place, id, { signal }),
  ).data;
  const cells = [
    ...cellsOf(schema, orb),
    ...windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") }),
  ];
  const named = titleField(schema);
  const title = (named !== undefined && entry !== undefined && plainValue(entry.values[named.name])) || id;
  // The history is that of the entry itself. A restored revision would not go into the set.
  const changeable =
    changeIn(orb.id) === undefined &&
    entry !== undefined &&
    rightsOf(caller, { orb, module, schema }, entry).readOnly === undefined;
  const onRestore = (revision: number) =>
    void (entry !== undefined && restore(place, entry, revision).then((done) => done && go(page)));
  const chosen = search.get("tab");
  const tab =
    search.get("at") !== null || chosen === "time"
      ? "time"
      : chosen === "activity" && place.managed
        ? "activity"
        : "revisions";
  return (
    <Page
      wide
      title={t("history.title", { name: title })}
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: titleOf(schema), to: list },
        { label: title, to: page },
      ]}
      actions={
        <LinkButton to={page} icon="pencil">
          {t("history.back")}
        </LinkButton>
      }
    >
      <Tabs
        label={t("history.views")}
        tabs={[
          { id: "revisions", label: t("history.revisions") },
          { id: "time", label: t("history.byTime") },
          ...(place.managed ? [{ id: "activity", label: t("activity.title") }] : []),
        ]}
        current={tab}
        onChange={(chosen) => put({ tab: chosen === "revisions" ? null : chosen, at: null })}
      >
        {tab === "activity" ? (
          <ActivityList orb={orb} filter={{ "filter[entry]": id }} />
        ) : tab === "time" ? (
          <AsOf {...{ place, id, cells }} at={search.get("at")} onChange={(at) => put({ at, tab: "time" })} />
        ) : (
          <ByRevision
            {...{ place, id, orb, cells, nameOf, query }}
            onRestore={changeable ? onRestore : undefined}
          />
        )}
      </Tabs>
    </Page>
  );
}

export default function EntryHistory({ params }: { params: PageParams }) {
  const { id = "" } = params;
  return <WithSchema params={params}>{(place) => <History key={id} place={place} id={id} />}</WithSchema>;
}
