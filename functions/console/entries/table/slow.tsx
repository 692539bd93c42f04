/** Explains why a list takes long: which part of the query has no index, and what would help. */
import { isPlatformAdmin } from "../../api/caller.ts";
import { type EntryPlace, listEntries } from "../../api/entries.ts";
import { labelOf, type OrbModel, type SchemaModel } from "../../model/orb.ts";
import { useLoad } from "../../state/load.ts";
import { useCaller } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Progress } from "../../ui/states.tsx";
import { causeOf, proposalLink } from "./data/cause.ts";
import type { Rows } from "./data/rows.ts";
import { NEWEST, type View } from "./data/view.ts";

interface Props {
  place: EntryPlace;
  orb: OrbModel;
  schema: SchemaModel;
  view: View;
  change: (part: Partial<View>) => void;
}

/** What would make the list fast. Callers who may change the schema can do it with one click. */
export function Remedy({ place, orb, schema, view, change }: Props) {
  const admin = isPlatformAdmin(useCaller(orb.id).data);
  const cause = causeOf(schema, view);
  const link = cause?.field === undefined || !admin ? undefined : proposalLink(orb, place, cause.field);
  return (
    <>
      {link === undefined ? null : (
        <LinkButton to={link} icon="zap" small>
          {t(cause?.field?.remedy === "search" ? "table.addSearch" : "table.addIndex", {
            field: cause?.field === undefined ? "" : labelOf(cause.field.field),
          })}
        </LinkButton>
      )}
      {view.sort === NEWEST ? null : (
        <Button size="small" onClick={() => change({ sort: NEWEST })}>
          {t("table.sortByCreation")}
        </Button>
      )}
    </>
  );
}

/** Covers the empty rows while the platform compares entries and has found none yet. */
export function Slow({ rows, ...props }: Props & { rows: Rows }) {
  const { place, schema, view } = props;
  const key = `entries/${place.orb}/${place.module}/${place.schema}/all`;
  // The number of all entries comes from an index.
  const all = useLoad(key, async (signal) => {
    const query = new URLSearchParams({ count: "true", limit: "1" });
    return (await listEntries(place, { query, signal })).total;
  }).data;
  const cause = causeOf(schema, view);
  const { searched } = rows;
  const label =
    all === undefined || all < searched
      ? t("table.compared", { count: searched })
      : t("table.comparedOf", { count: searched, all });
  return (
    <div class="grid-slow" role="status">
      <h2>{t("table.slowTitle")}</h2>
      {cause === undefined ? null : <p>{cause.text}</p>}
      {cause?.field === undefined ? null : (
        <p class="hint">
          {t(cause.field.remedy === "search" ? "table.slowHelpSearch" : "table.slowHelpIndex", {
            field: labelOf(cause.field.field),
          })}
        </p>
      )}
      <Progress
        done={all === undefined || all === 0 ? undefined : Math.min(1, searched / all)}
        label={label}
      />
      <div class="actions">
        <Button size="small" onClick={() => (rows.stopped ? rows.retry() : rows.stop())}>
          {t(rows.stopped ? "table.continue" : "table.stop")}
        </Button>
        <Remedy {...props} />
      </div>
    </div>
  );
}
