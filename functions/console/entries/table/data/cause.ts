/** Says which part of a list's query has no index, and what would help. */
import { traitsOf } from "../../../../../shared/definition/types/index.ts";
import { type FieldModel, labelOf, type OrbModel, type SchemaModel } from "../../../model/orb.ts";
import { orbLink } from "../../../shell/nav.ts";
import { t } from "../../../texts/t.ts";
import { fieldOf, isTemporal, NEWEST, opLabel, type View } from "./view.ts";

/** An attribute of a field that makes a list fast. */
type Remedy = "index" | "search";

export interface Cause {
  text: string;
  /** The field that an index would help; undefined if it cannot have one. */
  field?: { field: FieldModel; remedy: Remedy };
}

/** Returns whether a field can have an ordered index. */
const canOrder = (field: FieldModel): boolean =>
  traitsOf(field.type).orderable &&
  ![field.list, field.translatable, field.marketSpecific, field.sensitive].includes(true);

/** Returns why the platform must compare all entries; undefined if the query has an index. */
export function causeOf(
  schema: SchemaModel,
  view: Pick<View, "filters" | "sort" | "status">,
): Cause | undefined {
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
export function proposalLink(
  orb: OrbModel,
  place: { module: string; schema: string },
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
