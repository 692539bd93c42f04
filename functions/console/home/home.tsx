import { useState } from "preact/hooks";
import { listActivity } from "../api/activity.ts";
import { isPlatformAdmin } from "../api/caller.ts";
import { discoverOrbs, listOrbs, type OrbItem } from "../api/orbs.ts";
import { countEntries, readHealth } from "../api/platform.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useCaller } from "../state/session.ts";
import { formatNumber, t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
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

/** Shows when the application or one of its entries last changed. */
function LastChange({ orb: { id, updatedAt } }: { orb: OrbItem }) {
  const { data } = useLoad(`orbs/${id}/last-change`, (signal) =>
    listActivity(id, { "filter[kind]": "entry", limit: 1 }, signal),
  );
  const at = data?.items[0]?.at ?? updatedAt;
  return <Time at={at > updatedAt ? at : updatedAt} />;
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
          cell: (orb) => <LastChange orb={orb} />,
        },
      ]}
    />
  );
}

/** Lists of more applications get a search. */
const MANY = 8;
/** Maximum number of applications that a search looks at. */
const SEARCHED = 2_000;

const matches = (text: string) => {
  const words = text.trim().toLowerCase();
  return ({ id, name }: { id: string; name?: string }) => `${name ?? ""} ${id}`.toLowerCase().includes(words);
};

async function allOrbs(signal: AbortSignal): Promise<OrbItem[]> {
  const found: OrbItem[] = [];
  let cursor: string | undefined;
  while (found.length < SEARCHED) {
    const page = await listOrbs({ signal, query: { limit: 200, cursor } });
    found.push(...page.items);
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return found;
}

function SearchOrbs({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <div class="home-search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={t("home.search")}
        placeholder={t("home.search")}
        autocomplete="off"
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty icon="search" title={t("home.noMatch")}>
      <Button onClick={onClear}>{t("home.clear")}</Button>
    </Empty>
  );
}

/** Shows the applications of all pages that match a text. */
function FoundOrbs({ text, onClear }: { text: string; onClear: () => void }) {
  const all = useLoad("orbs?all", allOrbs);
  return (
    <Shows of={all}>
      {(orbs) => {
        const found = orbs.filter(matches(text));
        return found.length === 0 ? <NoMatch onClear={onClear} /> : <Orbs orbs={found.slice(0, PAGE_SIZE)} />;
      }}
    </Shows>
  );
}

/** The home page of platform admins: lists all applications. */
function AdminHome() {
  const [text, setText] = useState("");
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
            <div class="home-body">
              <div>
                {items.length > MANY || cursors.length > 0 ? (
                  <SearchOrbs text={text} onChange={setText} />
                ) : null}
                {text.trim() === "" ? (
                  <>
                    <Orbs orbs={items} />
                    <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
                  </>
                ) : (
                  <FoundOrbs text={text} onClear={() => setText("")} />
                )}
              </div>
              <Attention orbs={items} />
            </div>
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
  const [text, setText] = useState("");
  return (
    <Page title={t("home.choose")} lead={t("home.chooseLead")}>
      <Shows of={orbs}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="boxes" title={t("home.nothing")}>
              <p>{t("home.nothingText")}</p>
            </Empty>
          ) : (
            <>
              {all.length > MANY ? <SearchOrbs text={text} onChange={setText} /> : null}
              {all.some(matches(text)) ? null : <NoMatch onClear={() => setText("")} />}
              <div class="choices">
                {all.filter(matches(text)).map((orb) => (
                  <Link key={orb.id} to={orbLink(orb.id)} class="choice">
                    <span>
                      <strong>{titleOf(orb)}</strong>
                      <span class="hint">{orb.description}</span>
                    </span>
                  </Link>
                ))}
              </div>
            </>
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
