import { useState } from "preact/hooks";
import { isPlatformAdmin } from "../api/caller.ts";
import { discoverOrbs, listOrbs, type OrbItem } from "../api/orbs.ts";
import { countEntries, readHealth } from "../api/platform.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useCaller } from "../state/session.ts";
import { formatNumber, t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Pager, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { Attention } from "./attention.tsx";

const PAGE_SIZE = 50;

/**
 * Shows how many entries an application has. Each row requests its own number, so the list need not wait for all
 * numbers.
 */
function Entries({ orb }: { orb: string }) {
  const { data } = useLoad(`orbs/${orb}/count`, (signal) => countEntries(orb, { signal }));
  return <span class="number">{data === undefined ? "" : formatNumber(data)}</span>;
}

function Health() {
  const { data, error } = useLoad("health", readHealth);
  if (data === undefined && error === undefined) return null;
  const good = error === undefined;
  return (
    <p class={`health ${good ? "good" : "bad"}`} role="status">
      <span class="dot" aria-hidden="true" />
      {data === undefined || !good
        ? t("home.unhealthy")
        : t("home.healthy", {
            version: data.version,
            broker: data.broker?.version ?? "",
            ms: (data.broker?.roundTripMs ?? 0).toFixed(1),
          })}
    </p>
  );
}

const WAYS: readonly ["blank" | "example" | "paste", IconName][] = [
  ["blank", "plus"],
  ["example", "boxes"],
  ["paste", "braces"],
];

/** Shows the first steps on a platform without applications. */
function First() {
  return (
    <Empty icon="boxes" title={t("home.first")}>
      <p>{t("home.firstText")}</p>
      <div class="ways">
        {WAYS.map(([way, icon]) => (
          <Link key={way} to={`/orbs/new?from=${way}`} class="choice">
            <Icon name={icon} size={20} />
            <span>
              <strong>{t(`create.${way}`)}</strong>
              <span class="hint">{t(`create.${way}Hint`)}</span>
            </span>
          </Link>
        ))}
      </div>
    </Empty>
  );
}

function Orbs({ orbs }: { orbs: readonly OrbItem[] }) {
  return (
    <Table
      label={t("home.orbs")}
      rows={orbs}
      keyOf={({ id }) => id}
      columns={[
        {
          id: "name",
          label: t("home.name"),
          cell: (orb) => (
            <>
              <Link to={orbLink(orb.id)} class="strong">
                {titleOf(orb)}
              </Link>
              {orb.name === undefined ? null : <span class="hint orb-id"> {orb.id}</span>}
            </>
          ),
        },
        { id: "state", label: t("home.state"), cell: (orb) => <StateBadge of={orb} /> },
        {
          id: "entries",
          label: t("home.entries"),
          align: "end",
          cell: (orb) => <Entries orb={orb.id} />,
        },
        {
          id: "updated",
          label: t("home.updated"),
          align: "end",
          wide: true,
          cell: (orb) => <Time at={orb.updatedAt} />,
        },
      ]}
    />
  );
}

/** The home page of platform admins: lists all applications. */
function AdminHome() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const orbs = useLoad(`orbs?${cursor ?? ""}`, (signal) =>
    listOrbs({ signal, query: { limit: PAGE_SIZE, cursor } }),
  );
  const empty = orbs.data?.items.length === 0 && cursors.length === 0;
  return (
    <Page
      title={t("home.orbs")}
      actions={
        empty ? undefined : (
          <LinkButton to="/orbs/new" icon="plus" kind="primary">
            {t("home.create")}
          </LinkButton>
        )
      }
    >
      <Shows of={orbs}>
        {({ items, nextCursor }) =>
          empty ? (
            <First />
          ) : (
            <>
              <Attention orbs={items} />
              <Orbs orbs={items} />
              <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
            </>
          )
        }
      </Shows>
      <Health />
    </Page>
  );
}

/** The home page of users who are not platform admins: lists the published applications. */
function UserHome() {
  const orbs = useLoad("published", discoverOrbs);
  return (
    <Page title={t("home.choose")} lead={t("home.chooseLead")}>
      <Shows of={orbs}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="boxes" title={t("home.nothing")}>
              <p>{t("home.nothingText")}</p>
            </Empty>
          ) : (
            <div class="choices">
              {all.map((orb) => (
                <Link key={orb.id} to={orbLink(orb.id)} class="choice">
                  <span>
                    <strong>{titleOf(orb)}</strong>
                    <span class="hint">{orb.description}</span>
                  </span>
                </Link>
              ))}
            </div>
          )
        }
      </Shows>
    </Page>
  );
}

export default function Home(_: { params: PageParams }) {
  const { data: caller } = useCaller();
  return isPlatformAdmin(caller) ? <AdminHome /> : <UserHome />;
}
