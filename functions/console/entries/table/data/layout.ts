/** The layouts of a list beside the table: cards with images, boards by a value, calendars by a date, maps and trees. */
import { traitsOf } from "../../../../../shared/definition/types/index.ts";
import { type FieldModel, isPolymorphic, labelOf, refsOf, type SchemaModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { isTemporal, PROPERTIES } from "./view.ts";

/** Maximum columns of a board. */
const MOST_COLUMNS = 20;

export interface Layout {
  kind: "cards" | "board" | "calendar" | "map" | "tree";
  field: FieldModel;
}

const isPlain = ({ list, sensitive, translatable, marketSpecific }: FieldModel): boolean =>
  list !== true && sensitive !== true && translatable !== true && marketSpecific !== true;

/** Returns the field whose image stands for an entry. */
export const imageOf = ({ fields }: SchemaModel): FieldModel | undefined =>
  fields.find(
    (field) =>
      field.type === "file" &&
      isPlain(field) &&
      (field.accept === undefined || field.accept.some((type) => type.startsWith("image/"))),
  );

const ORDER = /^(order|position|sort|sorting|sequence|rank|weight)$/i;

/** Returns the field that says the order of entries with the same parent. */
export const orderFieldOf = ({ fields }: SchemaModel): FieldModel | undefined =>
  fields.find((field) => ORDER.test(field.name) && traitsOf(field.type).kind === "number" && isPlain(field));

/** Returns whether a field refers to one entry of the schema that has the field. */
const isParent = (field: FieldModel, own: string): boolean =>
  field.type === "reference" && isPlain(field) && !isPolymorphic(field) && refsOf(field)[0] === own;

/**
 * Returns the layouts that make sense for a schema, by their names in the address, with their labels.
 * @param own the schema as references name it: `shop/catalog/category`
 */
export function layoutsOf(
  schema: SchemaModel,
  own: string,
): ReadonlyMap<string, { label: string; layout: Layout }> {
  const layouts = new Map<string, { label: string; layout: Layout }>();
  const image = imageOf(schema);
  if (image !== undefined)
    layouts.set("cards", { label: t("table.cards"), layout: { kind: "cards", field: image } });
  for (const field of schema.fields)
    if (isParent(field, own))
      layouts.set(`tree:${field.name}`, {
        label: t("table.tree", { field: labelOf(field) }),
        layout: { kind: "tree", field },
      });
  for (const field of schema.fields)
    if (field.enum !== undefined && field.enum.length <= MOST_COLUMNS && isPlain(field))
      layouts.set(`board:${field.name}`, {
        label: t("table.board", { field: labelOf(field) }),
        layout: { kind: "board", field },
      });
  for (const field of [...schema.fields, ...PROPERTIES])
    if (field.type !== "time" && isTemporal(field) && isPlain(field))
      layouts.set(`calendar:${field.name}`, {
        label: t("table.calendar", { field: labelOf(field) }),
        layout: { kind: "calendar", field },
      });
  for (const field of schema.fields)
    if (field.type === "point" && isPlain(field))
      layouts.set(`map:${field.name}`, {
        label: t("table.map", { field: labelOf(field) }),
        layout: { kind: "map", field },
      });
  return layouts;
}
