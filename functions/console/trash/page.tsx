/** The deleted entries of an application: who deleted them and when, to restore or to erase them. */
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { AccountName } from "../accounts/name.tsx";
import { type DeletedEntry, eraseEntry, listTrash } from "../api/activity.ts";
import { moveEntry } from "../api/entries.ts";
import { plainLanguage, plainValue } from "../model/cells.ts";
import { type OrbModel, schemaOf, titleField, titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { refresh } from "../state/cache.ts";
import { useLoad } from "../state/load.ts";
import { learnNames } from "../state/names.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Pager } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { complain, say } from "../ui/toast.tsx";

/** Entries on a page. */
const PAGE = 20;

async function readTrash(orb: string, cursor: string | undefined, signal: AbortSignal) {
  const page = await listTrash(orb, { limit: PAGE, cursor }, signal);
  const accounts = page.items.map(({ deletedBy }) => deletedBy);
  learnNames(
    orb,
    accounts.flatMap(({ name, ...rest }) => (name === null ? [] : [{ ...rest, name, realm: "" }])),
  );
  return page;
}

function Row({ orb, item }: { orb: OrbModel; item: DeletedEntry }) {
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const { id, module, schema, deletedAt, deletedBy, deletedRevision } = item;
  const model = schemaOf(orb, module, schema);
  const field = model === undefined ? undefined : titleField(model);
  const value = field === undefined ? undefined : item.values[field.name];
  const name = plainValue(value) || t("activity.unnamed");
  const path = orbLink(orb.id, "entries", module, schema, id);
  /** @param work returns whether the entry leaves the trash. Its buttons then stay disabled until it has. */
  const run = (work: () => Promise<boolean>) => {
    setBusy(true);
    void work()
      .then(
        (leaves) => setBusy(leaves),
        (error: unknown) => {
          complain(error);
          setBusy(false);
        },
      )
      .finally(() => refresh(`orbs/${orb.id}/`));
  };
  const restore = async () => {
    await moveEntry(
      { orb: orb.id, module, schema, managed: true },
      { id, revision: deletedRevision },
      "restore",
    );
    say(t("trash.restored", { name }), { label: t("trash.open"), run: () => go(path) });
    return true;
  };
  const erase = async () => {
    const asked = { title: t("trash.eraseTitle", { name }), text: t("trash.eraseText") };
    if (!(await confirm({ ...asked, action: t("trash.erase"), danger: true }))) return false;
    await eraseEntry(orb.id, id);
    say(t("trash.erased", { name }));
    return true;
  };
  return (
    <li>
      <div class="activity-line">
        <span class="hint kind">{model === undefined ? schema : titleOf(model)}</span>
        <span class="words">
          <strong
            dir="auto"
            lang={field === undefined || value === undefined ? undefined : plainLanguage(value, field)}
          >
            {name}
          </strong>{" "}
          <Link to={`${path}/history`}>{t("trash.history")}</Link>
        </span>
        <span class="hint who">
          <AccountName orb={orb.id} id={deletedBy.id} /> · <Time at={deletedAt} />
        </span>
        <span class="row-end">
          <Button
            size="small"
            icon="undo"
            disabled={busy || model === undefined}
            aria-label={t("trash.restoreNamed", { name })}
            onClick={() => run(restore)}
          >
            {t("trash.restore")}
          </Button>
          <Button
            size="small"
            icon="trash"
            disabled={busy}
            aria-label={t("trash.eraseNamed", { name })}
            onClick={() => run(erase)}
          >
            {t("trash.erase")}
          </Button>
        </span>
      </div>
    </li>
  );
}

export default function Trash({ params: { orb: id = "" } }: { params: PageParams }) {
  const orb = useOrb(id).data;
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const deleted = useLoad(`orbs/${id}/trash/${cursor ?? ""}`, (signal) => readTrash(id, cursor, signal));
  return (
    <Page
      title={t("nav.trash")}
      lead={t("trash.lead")}
      path={[{ label: orb === undefined ? id : titleOf(orb), to: orbLink(id) }]}
      wide
    >
      <Shows of={deleted}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 && nextCursor === null ? (
              <Empty icon="trash" title={t("trash.none")} />
            ) : items.length === 0 ? (
              <p class="hint">{t("activity.searchOn")}</p>
            ) : (
              <ol class="activity" aria-label={t("nav.trash")}>
                {orb === undefined
                  ? null
                  : items.map((item) => (
                      <Row key={`${item.id} ${item.deletedRevision}`} {...{ orb, item }} />
                    ))}
              </ol>
            )}
            <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
          </>
        )}
      </Shows>
    </Page>
  );
}
