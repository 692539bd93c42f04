/** Explains why a list takes long: which part of the query has no index, and what would help. */
import { traitsOf } from "../../../../shared/definition/types/index.ts";
import { isPlatformAdmin } from "../../api/caller.ts";
import { type EntryPlace, listEntries } from "../../api/entries.ts";
import { type FieldModel, labelOf, type OrbModel, type SchemaModel } from "../../model/orb.ts";
import { orbLink } from "../../shell/nav.ts";
import { useLoad } from "../../state/load.ts";
import { useCaller } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Progress } from "../../ui/states.tsx";
import type { Rows } from "./data/rows.ts";
import { fieldOf, isTemporal, NEWEST, opLabel, type View } from "./data/view.ts";

/** An attribute of a field that makes a list fast. */
type Remedy = "index" | "search";

interface Cause {
  text: string;
  /** The field that an index would help; undefined if it cannot have one. */
  field?: { field: FieldModel; remedy: Remedy };
}

/** Returns whether a field can have an ordered index. */
const canOrder = (field: FieldModel): boolean =>
  traitsOf(field.type).orderable &&
  ![field.list, field.translatable, field.marketSpecific, field.sensitive].includes(true);

/** Returns why the platform must compare all entries; undefined if the query has an index. */
export function causeOf(schema: SchemaModel, view: View): Cause | undefined {
  const remedyFor = (field: FieldModel | undefined, remedy: Remedy): Pick<Cause, "field"> => {
    const isOwn = field !== undefined && schema.fields.includes(field);
    if (!isOwn || field.sensitive === true) return {};
    const fits = remedy === "search" ? traitsOf(field.type).searchable : canOrder(field);
    const has = remedy === "search" ? field.search === true : field.index === "ordered";
    return fits && !has ? { field: { field, remedy } } : {};
  };
  const sorted = view.sort.replace(/^-/, "");
  if (view.sort !== NEWEST && sorted !== "createdAt" && sorted !== "id") {
    const field = fieldOf(schema, sorted);
    if (field?.index !== "ordered") {
      const name = field === undefined ? sorted : labelOf(field);
      return { text: t("table.slowSort", { field: name }), ...remedyFor(field, "index") };
    }
  }
  for (const { name, op } of view.filters) {
    const field = fieldOf(schema, name);
    if (field === undefined || name === "id" || name === "createdAt") continue;
    const isExact = op === "eq" || op === "in";
    const hasEquality = field.unique === true || field.enum !== undefined || traitsOf(field.type).indexed;
    if (isExact && hasEquality) continue;
    const remedy = op === "contains" ? "search" : "index";
    if (op !== "contains" && field.index === "ordered") continue;
    const text = t("table.slowFilter", { field: labelOf(field), condition: opLabel(op, isTemporal(field)) });
    return { text, ...remedyFor(field, remedy) };
  }
  return view.status === undefined ? undefined : { text: t("table.slowState") };
}

/** Returns the path of the schema editor, with an attribute of a field proposed; undefined if there is no such field. */
function proposalLink(
  orb: OrbModel,
  place: EntryPlace,
  { field, remedy }: NonNullable<Cause["field"]>,
): string | undefined {
  const module = orb.modules.findIndex(({ id }) => id === place.module);
  const schema = orb.modules[module]?.schemas.findIndex(({ id }) => id === place.schema) ?? -1;
  const at = orb.modules[module]?.schemas[schema]?.fields.findIndex(({ name }) => name === field.name) ?? -1;
  if (at < 0) return undefined;
  const query = new URLSearchParams({
    at: `/modules/${module}/schemas/${schema}/fields/${at}`,
    propose: remedy,
  });
  return `${orbLink(orb.id, "schema")}?${query}`;
}

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
