import { isPlatformAdmin } from "../api/caller.ts";
import { discoverOrbs, listOrbs } from "../api/orbs.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { useCaller } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

/** Home of platform admins: every orb of the platform. */
function AdminHome() {
  const orbs = useLoad("orbs", (signal) => listOrbs({ signal, query: { limit: 200 } }));
  return (
    <Page
      title={t("home.title")}
      actions={
        <LinkButton to="/orbs/new" icon="plus" kind="primary">
          {t("home.create")}
        </LinkButton>
      }
    >
      <Shows of={orbs}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="boxes" title={t("home.first")}>
              <p>{t("home.firstText")}</p>
            </Empty>
          ) : (
            <Table
              label={t("home.orbs")}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                {
                  id: "name",
                  label: t("home.name"),
                  cell: (orb) => (
                    <Link to={orbLink(orb.id)} class="strong">
                      {titleOf(orb)}
                    </Link>
                  ),
                },
                { id: "state", label: t("home.state"), cell: (orb) => <StateBadge of={orb} /> },
                {
                  id: "updated",
                  label: t("home.updated"),
                  cell: (orb) => <Time at={orb.updatedAt} />,
                  wide: true,
                },
              ]}
            />
          )
        }
      </Shows>
    </Page>
  );
}

/** Home of other accounts: the published orbs. */
function UserHome() {
  const orbs = useLoad("published", discoverOrbs);
  return (
    <Page title={t("home.choose")} lead={t("home.chooseLead")}>
      <Shows of={orbs}>
        {(all) => (
          <div class="choices">
            {all.map((orb) => (
              <Link key={orb.id} to={orbLink(orb.id)} class="choice">
                <strong>{titleOf(orb)}</strong>
                <span class="hint">{orb.description}</span>
              </Link>
            ))}
          </div>
        )}
      </Shows>
    </Page>
  );
}

export default function Home(_: { params: PageParams }) {
  const { data: caller } = useCaller();
  return isPlatformAdmin(caller) ? <AdminHome /> : <UserHome />;
}
