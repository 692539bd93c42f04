/** The audit log. The URL contains its filters. */
import { useState } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { AccountPicker } from "../accounts/picker.tsx";
import { type AuditRecord, listAudit } from "../api/people.ts";
import { instantOf } from "../model/moment.ts";
import { useLoad } from "../state/load.ts";
import { nameForAdmin } from "../state/names.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { SelectField, TextField } from "../ui/form.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { type Column, Pager, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

/** Audited actions whose target is an account. */
const OF_ACCOUNTS = new Set([
  "register",
  "signin",
  "signout",
  "passkey",
  "recovery",
  "identity",
  "user",
  "role",
]);

const isAboutAccount = ({ action }: Pick<AuditRecord, "action">): boolean => OF_ACCOUNTS.has(action);

/** Returns the name of an account in a realm (set of accounts); undefined if there is none. */
function accountIn(realm: string, id: string): string | undefined {
  const name = nameForAdmin(realm === "platform" || realm === "auth" ? undefined : realm, id);
  return name === t("names.unknown") ? undefined : name;
}

const TEXTS = ["realm", "action", "actor", "target"] as const;
const TIMES = ["gte", "lte"] as const;

/** Shows the name of an account, or its id. A click filters the log by the id. */
function Account({ id, name, onOnly }: { id: string; name: string | undefined; onOnly: () => void }) {
  if (name === undefined) return <code class="id">{id}</code>;
  return (
    <button type="button" class="link" title={t("audit.only", { id })} onClick={onOnly}>
      {name}
    </button>
  );
}

const columnsOf = (
  set: (name: (typeof TEXTS)[number], value: string) => void,
): readonly Column<AuditRecord>[] => [
  { id: "at", label: t("audit.at"), cell: ({ at }) => <Time at={at} /> },
  {
    id: "action",
    label: t("audit.action"),
    cell: ({ action, outcome, detail }) => (
      <>
        <code>{action}</code> {outcome === "refused" ? <Badge tone="bad">{t("audit.refused")}</Badge> : null}
        {detail === null ? null : <div class="hint">{detail}</div>}
      </>
    ),
  },
  {
    id: "actor",
    label: t("audit.actor"),
    cell: ({ actor, realm, through, token }) => (
      <>
        <Account id={actor} name={accountIn(realm, actor)} onOnly={() => set("actor", actor)} />
        {through === undefined ? null : <div class="hint">{t("audit.through", { handler: through })}</div>}
        {token === undefined ? null : (
          <div class="hint">
            {t("audit.token", { token: accountIn(realm, `${actor}.${token}`) ?? t("audit.tokenGone") })}
          </div>
        )}
      </>
    ),
  },
  {
    id: "target",
    label: t("audit.target"),
    cell: ({ target, realm, action }) => (
      <>
        {target === null ? null : (
          <Account
            id={target}
            name={isAboutAccount({ action }) ? accountIn(realm, target) : undefined}
            onOnly={() => set("target", target)}
          />
        )}
        <div class="hint">{realm}</div>
      </>
    ),
    wide: true,
  },
  { id: "client", label: t("audit.client"), cell: ({ client }) => client, wide: true },
];

/** Returns the query for the records that match the filters in the page's URL. */
function queryOf(given: URLSearchParams, cursor: string | undefined): URLSearchParams {
  const query = new URLSearchParams({ limit: "50" });
  for (const name of [...TEXTS, "outcome"] as const) {
    const value = given.get(name)?.trim() ?? "";
    if (value !== "") query.set(`filter[${name}]`, value);
  }
  for (const name of TIMES) {
    const at = instantOf(given.get(name));
    if (at !== undefined) query.set(`filter[at][${name}]`, at);
  }
  if (cursor !== undefined) query.set("cursor", cursor);
  return query;
}

function Filters({
  given,
  items,
  set,
}: {
  given: URLSearchParams;
  /** The records on the page, whose accounts the filters propose. */
  items: readonly AuditRecord[];
  set: (name: string, value: string) => void;
}) {
  const realm = given.get("realm")?.trim() ?? "";
  const nameOf = (id: string) => {
    const record = items.find(({ actor, target }) => actor === id || target === id);
    return record === undefined ? undefined : accountIn(record.realm, id);
  };
  const actors = [...new Set(items.map(({ actor }) => actor))];
  const inputOf = (name: string) => ({
    value: given.get(name) ?? "",
    onChange: (value: string) => set(name, value),
  });
  return (
    <div class="filters">
      {TEXTS.map((name) =>
        name === "actor" || name === "target" ? (
          <AccountPicker
            key={name}
            {...inputOf(name)}
            label={t(`audit.${name}`)}
            orb={realm === "" || realm === "platform" || realm === "auth" ? undefined : realm}
            searches
            name={nameOf(given.get(name) ?? "") ?? given.get(name) ?? ""}
            known={actors.map((id) => ({ id, name: nameOf(id) ?? id }))}
          />
        ) : (
          <TextField key={name} {...inputOf(name)} label={t(`audit.${name}`)} />
        ),
      )}
      <SelectField
        {...inputOf("outcome")}
        label={t("audit.outcome")}
        options={[
          { value: "", label: t("audit.all") },
          { value: "ok", label: t("audit.ok") },
          { value: "refused", label: t("audit.refused") },
        ]}
      />
      {TIMES.map((name) => (
        <TextField key={name} {...inputOf(name)} type="datetime-local" label={t(`audit.${name}`)} />
      ))}
    </div>
  );
}

export default function Audit() {
  const [given, setGiven] = useSearchParams();
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const set = (name: string, value: string) => {
    setCursors([]);
    setGiven(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  };
  const query = queryOf(given, cursors.at(-1));
  const records = useLoad(`audit?${query}`, (signal) => listAudit(query, signal));
  return (
    <Page
      title={t("audit.title")}
      lead={t("audit.lead")}
      wide
      actions={
        <Button icon="refresh" onClick={() => void records.reload()}>
          {t("audit.refresh")}
        </Button>
      }
    >
      <Filters given={given} items={records.data?.items ?? []} set={set} />
      <Shows of={records}>
        {({ items, nextCursor }) =>
          items.length === 0 && nextCursor === null ? (
            <Empty icon="scroll" title={t("audit.nothing")}>
              {[...given.keys()].length > 0 ? (
                <Button onClick={() => setGiven({}, { replace: true })}>{t("audit.clear")}</Button>
              ) : null}
            </Empty>
          ) : (
            <>
              <Table label={t("audit.title")} columns={columnsOf(set)} rows={items} keyOf={({ id }) => id} />
              <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
            </>
          )
        }
      </Shows>
    </Page>
  );
}
