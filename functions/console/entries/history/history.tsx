/**
 * The history of an entry: its revisions, the difference between any two of them, and the entry as it was at a chosen
 * time.
 */
import { useState } from "preact/hooks";
import { useLocation, useSearchParams } from "wouter-preact";
import { isPlatformAdmin } from "../../api/caller.ts";
import {
  type EntryPlace,
  listRevisions,
  type RevisionItem,
  readEntry,
  restoreRevision,
} from "../../api/entries.ts";
import { cellsOf, plainValue, windowCells } from "../../model/cells.ts";
import { titleField, titleOf } from "../../model/orb.ts";
import { orbLink, type PageParams } from "../../shell/nav.ts";
import { refresh } from "../../state/cache.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Shows } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { complain, say } from "../../ui/toast.tsx";
import { useNames } from "../names.ts";
import { type Place, WithSchema } from "../place.tsx";
import { rightsOf } from "../rights.ts";
import { AsOf } from "./as-of.tsx";
import { Comparison, Revisions } from "./revisions.tsx";

function History({ place: { caller, orb, module, schema }, id }: { place: Place; id: string }) {
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const place: EntryPlace = {
    orb: orb.id,
    module: module.id,
    schema: schema.id,
    managed: isPlatformAdmin(caller),
  };
  const path = orbLink(orb.id, "entries", module.id, schema.id);
  const nameOf = useNames(caller);
  const [older, setOlder] = useState<{ items: readonly RevisionItem[]; next: string | null }>();
  const first = useLoad(`orbs/${orb.id}/history/${id}`, async (signal) => {
    setOlder(undefined);
    return listRevisions(place, id, { signal });
  });
  const entry = useLoad(`orbs/${orb.id}/history-entry/${id}`, (signal) =>
    readEntry(place, id, { signal }),
  ).data;
  const cells = [
    ...cellsOf(schema, orb),
    ...windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") }),
  ];
  const items = [...(first.data?.items ?? []), ...(older?.items ?? [])];
  const next = older === undefined ? (first.data?.nextCursor ?? null) : older.next;
  const newest = items[0]?.revision ?? 1;
  const to = Number(search.get("to") ?? newest);
  const from = Number(search.get("from") ?? Math.max(1, to - 1));
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
  const restore = async (revision: number) => {
    if (entry === undefined) return;
    try {
      const made = await restoreRevision(place, entry, revision);
      refresh(`orbs/${orb.id}/`);
      say(t("history.restored", { revision }), {
        label: t("entry.undo"),
        run: () =>
          void restoreRevision(place, made, entry.revision).then(() => refresh(`orbs/${orb.id}/`), complain),
      });
      go(`${path}/${encodeURIComponent(id)}`);
    } catch (error) {
      complain(error);
      refresh(`orbs/${orb.id}/`);
    }
  };
  const loadOlder = () =>
    listRevisions(place, id, { cursor: next ?? undefined }).then(
      (page) => setOlder({ items: [...(older?.items ?? []), ...page.items], next: page.nextCursor }),
      complain,
    );
  const named = titleField(schema);
  const title = (named !== undefined && entry !== undefined && plainValue(entry.values[named.name])) || id;
  const changeable =
    entry !== undefined && rightsOf(caller, { orb, module, schema }, entry).readOnly === undefined;
  const tab = search.get("at") !== null || search.get("tab") === "time" ? "time" : "revisions";
  return (
    <Page
      wide
      title={t("history.title", { name: title })}
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: titleOf(schema), to: path },
        { label: title, to: `${path}/${encodeURIComponent(id)}` },
      ]}
      actions={
        <LinkButton to={`${path}/${encodeURIComponent(id)}`} icon="pencil">
          {t("history.back")}
        </LinkButton>
      }
    >
      <Tabs
        label={t("history.views")}
        tabs={[
          { id: "revisions", label: t("history.revisions") },
          { id: "time", label: t("history.byTime") },
        ]}
        current={tab}
        onChange={(chosen) => put(chosen === "time" ? { tab: "time" } : { tab: null, at: null })}
      >
        {tab === "time" ? (
          <AsOf
            place={place}
            id={id}
            cells={cells}
            at={search.get("at")}
            onChange={(at) => put({ at, tab: "time" })}
          />
        ) : (
          <Shows of={first}>
            {() => (
              <div class="entry-history">
                <div class="card">
                  <p class="hint revision-head">{t("history.pick")}</p>
                  <Revisions
                    {...{ items, from, to, nameOf }}
                    onChange={(one, other) => put({ from: String(one), to: String(other) })}
                    restore={changeable ? (revision) => void restore(revision) : undefined}
                  />
                  {next === null ? null : (
                    <Button onClick={() => void loadOlder()}>{t("history.older")}</Button>
                  )}
                </div>
                {from === to ? (
                  <p class="card hint">
                    {t(items.length === 1 && next === null ? "history.only" : "history.pickTwo")}
                  </p>
                ) : (
                  <Comparison
                    place={place}
                    id={id}
                    cells={cells}
                    from={Math.min(from, to)}
                    to={Math.max(from, to)}
                  />
                )}
              </div>
            )}
          </Shows>
        )}
      </Tabs>
    </Page>
  );
}

export default function EntryHistory({ params }: { params: PageParams }) {
  const { id = "" } = params;
  return <WithSchema params={params}>{(place) => <History key={id} place={place} id={id} />}</WithSchema>;
}
