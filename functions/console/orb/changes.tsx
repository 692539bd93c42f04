/** The newest changes of an application: of its entries, and of its document. */
import type { ComponentChildren } from "preact";
import { AccountName } from "../accounts/name.tsx";
import { type EntryChangeItem, listChanges, readNamed } from "../api/entries.ts";
import { listRevisions, type OrbRevision } from "../api/orbs.ts";
import { plainValue } from "../model/cells.ts";
import { type OrbModel, schemaOf, titleField, titleOf } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { useLoad } from "../state/load.ts";
import { has, t } from "../texts/t.ts";
import { Link } from "../ui/link.tsx";
import { Time } from "../ui/time.tsx";

/** Maximum number of changes in the list. */
const SHOWN = 10;

const operationText = (operation: string): string => {
  const key = `operation.${operation}`;
  return has(key) ? t(key) : operation;
};

interface Line {
  id: string;
  at: string;
  by: string;
  through?: string | undefined;
  kind: string;
  what: ComponentChildren;
}

/** Reads the names of the changed entries. Entries that are gone have no name. */
async function readChanges(orb: string, signal: AbortSignal) {
  const [changes, revisions] = await Promise.all([
    listChanges(orb, SHOWN, signal),
    listRevisions(orb, { signal, query: { limit: SHOWN, sort: "-revision" } }),
  ]);
  const ids = [...new Set(changes.map(({ id }) => id))];
  return { changes, revisions: revisions.items, named: await readNamed(orb, ids, signal) };
}

function lineOfEntry(orb: OrbModel, change: EntryChangeItem, name: string | undefined): Line {
  const { id, module, schema, revision, operation, at, by, through } = change;
  const model = schemaOf(orb, module, schema);
  const shown = name === undefined || name === "" ? id : name;
  return {
    id: `${id} ${revision}`,
    ...{ at, by, through },
    kind: model === undefined ? schema : titleOf(model),
    what: (
      <>
        {operationText(operation)}{" "}
        {name === undefined ? (
          <span class="hint">{shown}</span>
        ) : (
          <Link to={orbLink(orb.id, "entries", module, schema, id)}>
            <bdi>{shown}</bdi>
          </Link>
        )}
      </>
    ),
  };
}

const lineOfRevision = (orb: string, { revision, operation, at, by, summary }: OrbRevision): Line => ({
  id: `revision ${revision}`,
  ...{ at, by },
  kind: t("nav.schema"),
  what: (
    <Link to={`${orbLink(orb, "history")}?at=${revision}`}>
      {summary.length === 0 ? operationText(operation) : summary.join("; ")}
    </Link>
  ),
});

export function Changes({ orb }: { orb: OrbModel }) {
  const { data } = useLoad(`orbs/${orb.id}/activity`, (signal) => readChanges(orb.id, signal));
  if (data === undefined) return null;
  const nameOf = (change: EntryChangeItem) => {
    const entry = data.named.get(change.id);
    if (entry === undefined) return undefined;
    const schema = schemaOf(orb, change.module, change.schema);
    const field = schema === undefined ? undefined : titleField(schema);
    return field === undefined ? "" : plainValue(entry.values[field.name]);
  };
  const lines = [
    ...data.changes.map((change) => lineOfEntry(orb, change, nameOf(change))),
    ...data.revisions.map((revision) => lineOfRevision(orb.id, revision)),
  ]
    .sort((a, b) => b.at.localeCompare(a.at))
    .slice(0, SHOWN);
  return (
    <section class="orb-changes" aria-labelledby="changes">
      <h2 id="changes">{t("orb.changes")}</h2>
      <ol>
        {lines.map(({ id, at, by, through, kind, what }) => (
          <li key={id}>
            <span class="hint kind">{kind}</span>
            <span class="words">{what}</span>
            <span class="hint who">
              <AccountName orb={orb.id} id={by} />
              {through === undefined ? null : ` ${t("audit.through", { handler: through })}`} ·{" "}
              <Time at={at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
