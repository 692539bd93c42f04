/** A list of acts in an application, one line for each. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { AccountName } from "../accounts/name.tsx";
import { type ActivityItem, listActivity } from "../api/activity.ts";
import { type EntryItem, readNamed } from "../api/entries.ts";
import { Comparison } from "../entries/comparison.tsx";
import { cellsOf, plainValue, windowCells } from "../model/cells.ts";
import { type OrbModel, schemaOf, titleField, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { learnNames } from "../state/names.ts";
import { has, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Link } from "../ui/link.tsx";
import { Time } from "../ui/time.tsx";

type Named = ReadonlyMap<string, EntryItem>;

/** Acts on entries that can change values. */
const CHANGING: ReadonlySet<string> = new Set(["update", "publish", "revert", "restore"]);

/** A page of acts, with the entries that they are about, as far as these still exist. */
export async function readActivity(
  orb: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
) {
  const { items, nextCursor } = await listActivity(orb, query, signal);
  const accounts = items.flatMap(({ by, account }) => (account === undefined ? [by] : [by, account]));
  learnNames(
    orb,
    accounts.flatMap(({ name, ...rest }) => (name === null ? [] : [{ ...rest, name, realm: "" }])),
  );
  const ids = [...new Set(items.flatMap(({ entry }) => (entry === undefined ? [] : [entry.id])))];
  return { items, nextCursor, named: await readNamed(orb, ids, signal) };
}

function actText({ kind, act }: ActivityItem): string {
  const keys = [`activity.${kind}-${act}`, `operation.${act}`];
  const key = keys.find((one) => has(one));
  return key !== undefined && has(key) ? t(key) : act;
}

/** Links to the entry of an act, under its title. */
function EntryName({ orb, item, named }: { orb: OrbModel; item: ActivityItem; named: Named }) {
  const { entry } = item;
  if (entry === undefined) return null;
  const found = named.get(entry.id);
  if (found === undefined) return <span class="hint">{t("activity.goneEntry")}</span>;
  const { id, module, schema } = found;
  const model = schemaOf(orb, module, schema);
  const field = model === undefined ? undefined : titleField(model);
  const name = field === undefined ? "" : plainValue(found.values[field.name]);
  return (
    <Link to={orbLink(orb.id, "entries", module, schema, id)}>
      <bdi>{name === "" ? t("activity.unnamed") : name}</bdi>
    </Link>
  );
}

function SetName({ orb, change }: { orb: OrbModel; change: NonNullable<ActivityItem["change"]> }) {
  return (
    <Link to={orbLink(orb.id, "changes", change.id)}>
      <bdi>{change.title ?? t("activity.set")}</bdi>
    </Link>
  );
}

function kindOf(orb: OrbModel, { kind, entry }: ActivityItem, named: Named): string {
  if (kind !== "entry" || entry === undefined) return t(`activity.kind-${kind}`);
  const { module = "", schema = "" } = named.get(entry.id) ?? entry;
  const model = schemaOf(orb, module, schema);
  return model === undefined ? schema || t("activity.kind-entry") : titleOf(model);
}

function wordsOf(orb: OrbModel, item: ActivityItem, named: Named): ComponentChildren {
  const { change, file, definition, account, detail, kind } = item;
  const words = actText(item);
  if (kind === "definition" && definition !== undefined) {
    const { revision, summary } = definition;
    return (
      <Link to={`${orbLink(orb.id, "history")}?at=${revision}`}>
        {summary.length === 0 ? words : summary.join("; ")}
      </Link>
    );
  }
  return (
    <>
      {words}{" "}
      {file === undefined ? null : (
        <Link to={`${orbLink(orb.id, "media")}?file=${encodeURIComponent(file.id)}`}>
          <bdi>{file.name}</bdi>
        </Link>
      )}
      <EntryName {...{ orb, item, named }} />
      {change === undefined ? null : kind === "change" ? (
        <SetName {...{ orb, change }} />
      ) : (
        <span class="hint">
          {" "}
          {t("activity.within")} <SetName {...{ orb, change }} />
        </span>
      )}
      {account === undefined ? null : <AccountName orb={orb.id} id={account.id} />}{" "}
      {detail === undefined ? null : <code class="hint">{detail}</code>}
    </>
  );
}

/** The values that an act has changed, with the words that differ. */
function Changed({ orb, item, named }: { orb: OrbModel; item: ActivityItem; named: Named }) {
  const { id = "", revision = 0 } = item.entry ?? {};
  const { module = "", schema = "" } = named.get(id) ?? item.entry ?? {};
  const model = schemaOf(orb, module, schema);
  if (model === undefined) return null;
  const windows = windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") });
  const place = { orb: orb.id, module, schema, managed: true };
  return (
    <Comparison
      {...{ place, id, orb }}
      cells={[...cellsOf(model, orb), ...windows]}
      from={revision - 1}
      to={revision}
    />
  );
}

function Line({
  orb,
  item,
  named,
  opens,
}: {
  orb: OrbModel;
  item: ActivityItem;
  named: Named;
  opens: boolean;
}) {
  const [open, setOpen] = useState(false);
  const { at, by, through, kind, act, entry } = item;
  const differs = opens && kind === "entry" && CHANGING.has(act) && (entry?.revision ?? 1) > 1;
  return (
    <li>
      <div class="activity-line">
        <span class="hint kind">{kindOf(orb, item, named)}</span>
        <span class="words">
          {wordsOf(orb, item, named)}{" "}
          {differs ? (
            <Button size="small" kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
              {t("activity.compare")}
            </Button>
          ) : null}
        </span>
        <span class="hint who">
          <AccountName orb={orb.id} id={by.id} />
          {through === undefined ? null : ` ${t("audit.through", { handler: through })}`} · <Time at={at} />
        </span>
      </div>
      {open ? <Changed {...{ orb, item, named }} /> : null}
    </li>
  );
}

/** @param opens whether each line can show the values that differ */
export function ActivityLines({
  orb,
  items,
  named,
  label,
  opens = false,
}: {
  orb: OrbModel;
  items: readonly ActivityItem[];
  named: Named;
  label: string;
  opens?: boolean;
}) {
  return (
    <ol class="activity" aria-label={label}>
      {items.map((item) => (
        <Line key={item.id} {...{ orb, item, named, opens }} />
      ))}
    </ol>
  );
}
