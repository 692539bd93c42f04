/** Lists the revisions of an application's document that programs still name, so that people know who must be changed. */
import { listUses, type Use } from "../api/orbs.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { type Column, Table } from "../ui/table.tsx";

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
    cell: ({ first }) => <time dateTime={first}>{first}</time>,
  },
  { id: "last", label: t("revisions.usedLast"), cell: ({ last }) => <time dateTime={last}>{last}</time> },
];

export function UsedRevisions({ orb }: { orb: string }) {
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
