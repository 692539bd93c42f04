/** Lists the deliveries (calls) of an application's after-write hooks, webhooks and schedules. */
import { useState } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { type Delivery, listDeliveries, redeliver } from "../api/handlers.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { type Column, Pager, Table } from "../ui/table.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Time } from "../ui/time.tsx";
import { say } from "../ui/toast.tsx";

const STATES = ["failed", "waiting", "delivered"] as const;
type State = (typeof STATES)[number];
const TONES = { failed: "bad", waiting: "warning", delivered: "good" } as const;

const isState = (text: string | null): text is State => STATES.some((state) => state === text);

function columnsOf(orb: string, again: (delivery: Delivery) => void): Column<Delivery>[] {
  return [
    {
      id: "hook",
      label: t("deliveries.hook"),
      cell: ({ hook, event, error: why }) => (
        <>
          <code>{hook}</code> {event === null ? null : <span class="hint">{event}</span>}
          {why === null ? null : <div class="error">{why}</div>}
        </>
      ),
    },
    {
      id: "entry",
      label: t("deliveries.entry"),
      cell: ({ module, schema, entry }) =>
        module === null || schema === null || entry === null ? null : (
          <Link to={orbLink(orb, "entries", module, schema, entry)}>
            <code>{entry}</code>
          </Link>
        ),
      wide: true,
    },
    {
      id: "status",
      label: t("deliveries.status"),
      cell: ({ status: state, attempts }) => (
        <>
          <Badge tone={TONES[state]}>{t(`deliveries.${state}`)}</Badge>{" "}
          <span class="hint">{t("deliveries.attempts", { count: attempts })}</span>
        </>
      ),
    },
    { id: "at", label: t("deliveries.at"), cell: ({ at }) => <Time at={at} />, wide: true },
    {
      id: "actions",
      label: t("deliveries.actions"),
      align: "end",
      cell: (delivery) => (
        <Button size="small" icon="send" onClick={() => again(delivery)}>
          {t("deliveries.redeliver")}
        </Button>
      ),
    },
  ];
}

export default function Deliveries({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useOrb(id);
  const [given, setGiven] = useSearchParams();
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const { error, run } = useAction();
  const named = given.get("status");
  const status: State = isState(named) ? named : "failed";
  const query = { status, limit: 50, cursor: cursors.at(-1) };
  const list = useLoad(`orbs/${id}/deliveries?${JSON.stringify(query)}`, (signal) =>
    listDeliveries(id, { query, signal }),
  );
  const again = async (delivery: Delivery) => {
    await run(async () => {
      await redeliver(id, delivery.id);
      say(t("deliveries.again"));
    });
    await list.reload();
  };
  return (
    <Page
      title={t("deliveries.title")}
      lead={t("deliveries.lead")}
      path={[{ label: orb.data === undefined ? id : titleOf(orb.data), to: orbLink(id) }]}
      wide
      actions={
        <Button icon="refresh" busy={list.busy} onClick={() => void list.reload()}>
          {t("deliveries.refresh")}
        </Button>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <Tabs
        label={t("deliveries.title")}
        tabs={STATES.map((state) => ({ id: state, label: t(`deliveries.${state}`) }))}
        current={status}
        onChange={(state) => {
          setCursors([]);
          setGiven({ status: state }, { replace: true });
        }}
      >
        <Shows of={list}>
          {({ items, nextCursor, worker, backlog }) => (
            <>
              {backlog === undefined || backlog.oldest === null ? null : (
                <p class="notice">
                  {t("deliveries.backlog", { count: backlog.count })} <Time at={backlog.oldest} />
                </p>
              )}
              {worker === "absent" ? <p class="notice">{t("deliveries.noWorker")}</p> : null}
              {items.length === 0 ? (
                <Empty icon="send" title={t(`deliveries.none-${status}`)}>
                  <p>{t("deliveries.noneText")}</p>
                </Empty>
              ) : (
                <Table
                  label={t("deliveries.title")}
                  rows={items}
                  keyOf={(delivery) => delivery.id}
                  columns={columnsOf(id, (delivery) => void again(delivery))}
                />
              )}
              <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
            </>
          )}
        </Shows>
      </Tabs>
    </Page>
  );
}
