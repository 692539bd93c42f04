/** The history of an application's document: who changed what, and the revision that the user selects. */
import { useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import { listRevisions, listUses, type OrbRevision, readOrb, type Use } from "../api/orbs.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useAccountNames } from "../state/names.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Shows } from "../ui/states.tsx";
import { type Column, Pager, Table } from "../ui/table.tsx";
import { Day, Time } from "../ui/time.tsx";
import { operationOf, RevisionDetail } from "./revision.tsx";

function userText({ kind, name, id }: Use): string {
  if (kind === "token" || kind === "account" || kind === "handler")
    return t(`revisions.by-${kind}`, { name: name ?? id ?? "" });
  return t(`revisions.by-${kind}`);
}

const COLUMNS: readonly Column<Use>[] = [
  {
    id: "revision",
    label: t("revisions.usedRevision"),
    align: "end",
    cell: ({ revision }) => String(revision),
  },
  { id: "by", label: t("revisions.usedBy"), cell: (use) => <bdi>{userText(use)}</bdi> },
  {
    id: "first",
    label: t("revisions.usedSince"),
    cell: ({ first }) => <Day date={first} />,
  },
  { id: "last", label: t("revisions.usedLast"), cell: ({ last }) => <Day date={last} /> },
];

/** Lists the revisions of an application's document that programs still name, so that people know who must be changed. */
function UsedRevisions({ orb }: { orb: string }) {
  const { data } = useLoad(`document/${orb}/used`, (signal) => listUses(orb, signal));
  if (data === undefined || data.items.length === 0) return null;
  return (
    <>
      <h2>{t("revisions.used")}</h2>
      <p class="hint">{t("revisions.usedText")}</p>
      <Table
        label={t("revisions.used")}
        columns={COLUMNS}
        rows={data.items}
        keyOf={({ revision, kind, realm, id, token }) => [revision, kind, realm, id, token].join(" ")}
      />
    </>
  );
}

/** Maximum number of summary lines for each revision in the list. */
const SHOWN = 3;

function Row({
  item,
  current,
  live,
  newest,
  name,
  onSelect,
}: {
  item: OrbRevision;
  current: boolean;
  live: boolean;
  newest: boolean;
  name: string;
  onSelect: () => void;
}) {
  const { revision, operation, at, summary } = item;
  return (
    <li>
      <button type="button" class="revision" aria-current={current ? "true" : undefined} onClick={onSelect}>
        <span class="revision-head">
          <strong>{t("revisions.revision", { revision: String(revision) })}</strong>
          {live ? <Badge tone="good">{t("revisions.live")}</Badge> : null}
          {newest ? <Badge>{t("revisions.newest")}</Badge> : null}
        </span>
        <span class="revision-what">
          {summary.length === 0
            ? operationOf(operation)
            : summary.slice(0, SHOWN).map((line) => <span key={line}>{line}</span>)}
          {summary.length > SHOWN ? (
            <span>{t("revisions.more", { count: summary.length - SHOWN })}</span>
          ) : null}
        </span>
        <span class="hint">
          {name} · <Time at={at} />
        </span>
      </button>
    </li>
  );
}

export default function HistoryPage({ params: { orb: id = "" } }: { params: PageParams }) {
  const [, navigate] = useLocation();
  const search = new URLSearchParams(useSearch());
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const orb = useLoad(`document/${id}`, (signal) => readOrb(id, signal));
  const page = useLoad(`history/${id}?${cursors.at(-1) ?? ""}`, (signal) =>
    listRevisions(id, { query: { sort: "-revision", limit: 50, cursor: cursors.at(-1) }, signal }),
  );
  const nameOf = useAccountNames(id);
  const number = (name: string) => {
    const text = search.get(name) ?? "";
    return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
  };
  const go = (at: number, against?: number) =>
    navigate(`${orbLink(id, "history")}?at=${at}${against === undefined ? "" : `&against=${against}`}`, {
      replace: true,
    });
  return (
    <Page
      title={t("revisions.title")}
      path={[{ label: orb.data === undefined ? id : titleOf(orb.data), to: orbLink(id) }]}
      wide
      lead={t("revisions.lead")}
      actions={
        <LinkButton to={orbLink(id, "schema")} icon="pencil">
          {t("revisions.edit")}
        </LinkButton>
      }
    >
      <Shows of={page}>
        {({ items, nextCursor }) => {
          const first = items[0]?.revision;
          const newest = orb.data?.revision ?? first ?? 0;
          const shown = number("at") ?? first;
          const found = items.find(({ revision }) => revision === shown);
          return (
            <div class="history">
              <div>
                <ol class="revisions">
                  {items.map((item) => (
                    <Row
                      key={item.revision}
                      item={item}
                      current={item.revision === shown}
                      live={item.revision === orb.data?.publishedRevision}
                      newest={item.revision === newest}
                      name={nameOf(item.by)}
                      onSelect={() => go(item.revision)}
                    />
                  ))}
                </ol>
                <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
              </div>
              {shown === undefined ? null : (
                <RevisionDetail
                  key={shown}
                  orb={id}
                  shown={shown}
                  against={number("against")}
                  others={items.map(({ revision }) => revision)}
                  newest={newest}
                  name={found === undefined ? "" : nameOf(found.by)}
                  onAgainst={(against) => go(shown, against)}
                />
              )}
            </div>
          );
        }}
      </Shows>
      <UsedRevisions orb={id} />
    </Page>
  );
}
