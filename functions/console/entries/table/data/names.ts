/** Finds the names of the entries in the rows, and of the entries that they refer to. */
import { isTitleName } from "../../../../../shared/definition/types/index.ts";
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import {
  type FieldModel,
  type OrbModel,
  refsOf,
  type SchemaModel,
  schemaOf,
  titleField,
} from "../../../model/orb.ts";
import { shownValue, type View } from "./view.ts";

type Wish = Pick<View, "locale" | "market">;
type Names = Pick<OrbModel, "languages" | "markets">;

/** A schema that a reference points to, and the application and module that contain it. */
export interface Target {
  place: EntryPlace;
  schema: SchemaModel | undefined;
}

/** Returns the schemas that a reference may point to. */
export const targetsOf = (field: FieldModel, orb: OrbModel, managed: boolean): Target[] =>
  refsOf(field).flatMap((ref) => targetOf(ref, orb, managed) ?? []);

function targetOf(ref: string, orb: OrbModel, managed: boolean): Target | undefined {
  const [id, module, schema] = ref.split("/");
  if (id === undefined || module === undefined || schema === undefined) return undefined;
  return {
    place: { orb: id, module, schema, managed },
    schema: id === orb.id ? schemaOf(orb, module, schema) : undefined,
  };
}

const textIn = (value: unknown): string | undefined => {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value !== "object" || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const text = textIn(inner);
    if (text !== undefined) return text;
  }
  return undefined;
};

/** Returns the name of an entry: the value of its title field, or its id. */
export function nameOf(item: EntryItem, schema: SchemaModel | undefined, orb: Names, wish: Wish): string {
  const field = schema === undefined ? undefined : titleField(schema);
  if (field !== undefined) {
    const { value } = shownValue(field, item.values[field.name], orb, wish);
    return typeof value === "string" && value !== "" ? value : item.id;
  }
  // The schema belongs to another application, so its fields are unknown here. Guess the title field by its name.
  const named = Object.keys(item.values).find(isTitleName);
  return textIn(named === undefined ? undefined : item.values[named]) ?? textIn(item.values) ?? item.id;
}

/** Finds entries that a reference may point to, by part of their name. */
export async function findTargets(
  { place, schema }: Target,
  text: string,
  signal: AbortSignal,
): Promise<EntryItem[]> {
  const query = new URLSearchParams({ limit: "8", sort: "-createdAt" });
  const title = schema === undefined ? undefined : titleField(schema);
  if (text !== "" && title !== undefined) query.set(`filter[${title.name}][contains]`, text);
  return (await listEntries(place, { query, signal })).items;
}
