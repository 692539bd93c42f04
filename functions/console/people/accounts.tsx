/** A table of accounts. */
import { useState } from "preact/hooks";
import { listPeople, type PeoplePlace, type Person } from "../api/people.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { SelectField } from "../ui/form.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { type Column, Pager, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

export function Accounts({
  place,
  keyOf,
  roleName,
  onOpen,
}: {
  place: PeoplePlace;
  /** Prefix of the keys under which the lists are cached. */
  keyOf: string;
  roleName: (role: string) => string;
  onOpen: (person: Person) => void;
}) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [status, setStatus] = useState("");
  const query = {
    limit: 50,
    ...(status === "" ? {} : { "filter[status]": status }),
    ...(cursors.length === 0 ? {} : { cursor: cursors.at(-1) }),
  };
  const people = useLoad(`${keyOf}accounts?${JSON.stringify(query)}`, (signal) =>
    listPeople(place, { query, signal }),
  );
  const columns: Column<Person>[] = [
    {
      id: "name",
      label: t("people.name"),
      cell: (person) => (
        <>
          <button type="button" class="link" onClick={() => onOpen(person)}>
            {person.name}
          </button>{" "}
          {person.service === true ? <Badge>{t("people.program")}</Badge> : null}
          {person.status === "disabled" ? <Badge tone="warning">{t("people.disabled")}</Badge> : null}
        </>
      ),
    },
    ...(place.platform
      ? []
      : [{ id: "role", label: t("people.role"), cell: ({ role = "" }: Person) => roleName(role) }]),
    { id: "email", label: t("people.email"), cell: ({ email }) => email ?? "", wide: true },
    { id: "since", label: t("people.since"), cell: ({ createdAt }) => <Time at={createdAt} />, wide: true },
  ];
  return (
    <>
      {place.platform ? null : (
        <div class="filters">
          <SelectField
            label={t("people.state")}
            value={status}
            options={[
              { value: "", label: t("people.everyone") },
              { value: "active", label: t("people.active") },
              { value: "disabled", label: t("people.disabled") },
            ]}
            onChange={(value) => {
              setCursors([]);
              setStatus(value);
            }}
          />
        </div>
      )}
      <Shows of={people}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty icon="users" title={t("people.nobody")}>
              <p>{t("people.nobodyText")}</p>
            </Empty>
          ) : (
            <>
              <Table label={t("people.accounts")} columns={columns} rows={items} keyOf={({ id }) => id} />
              <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
            </>
          )
        }
      </Shows>
    </>
  );
}
