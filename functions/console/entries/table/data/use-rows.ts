/** Loads the entries of a view. Keeps them in memory while the user visits the page of an entry and comes back. */
import { useEffect, useMemo } from "preact/hooks";
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import { type FieldModel, type OrbModel, type SchemaModel, titleField } from "../../../model/orb.ts";
import { nameOf, targetsOf } from "./names.ts";
import { PAGE, type Row, Rows } from "./rows.ts";
import { conditionsOf, type View } from "./view.ts";

export interface Kept {
  key: string;
  rows: Rows;
  /** Reads up to 100 entries by id, with the values that the table shows. The order of the result is undefined. */
  readOnes: (ids: readonly string[], signal: AbortSignal) => Promise<Row[]>;
  /** Scroll position in pixels. */
  top: number;
}

/** The list that was last shown. */
let kept: Kept | undefined;

export interface RowsInput {
  place: EntryPlace;
  schema: SchemaModel;
  orb: OrbModel;
  view: View;
  columns: readonly FieldModel[];
  /** Whether the caller may read drafts. */
  drafts: boolean;
}

/** Returns the query parameters that select and sort the entries. */
export function listQuery({ view, drafts }: Pick<RowsInput, "view" | "drafts">): URLSearchParams {
  const query = conditionsOf(view);
  if (!drafts) query.set("revision", "published");
  return query;
}

interface Expanded extends EntryItem {
  expand?: Readonly<Record<string, EntryItem | null>>;
}

/** Reads the rows of the table. Reuses the rows and the scroll position of the last visit if the view is the same. */
export function useRows(input: RowsInput): Kept {
  const { place, schema, orb, view, columns } = input;
  const query = listQuery(input);
  const title = titleField(schema);
  const names = new Set(
    columns.map(({ name }) => name).filter((name) => schema.fields.some((f) => f.name === name)),
  );
  if (title !== undefined) names.add(title.name);
  // An empty `fields` parameter would return every field.
  query.set("fields", names.size === 0 ? "id" : [...names].join(","));
  const references = columns.filter(({ type, list }) => type === "reference" && list !== true);
  if (references.length > 0) query.set("expand", references.map(({ name }) => name).join(","));
  const key = `${place.orb}/${place.module}/${place.schema}/${place.change ?? ""}?${query}`;

  const state = useMemo((): Kept => {
    if (kept?.key === key) {
      kept.rows.refresh();
      return kept;
    }
    const read = async (cursor: string | null, signal: AbortSignal) => {
      const search = new URLSearchParams(query);
      search.set("limit", String(PAGE));
      if (cursor !== null) search.set("cursor", cursor);
      const page = await listEntries(place, { query: search, signal });
      return { ...page, items: page.items.map(rowOf) };
    };
    const schemaIn = (field: FieldModel, { module, schema: id }: EntryItem) =>
      targetsOf(field, orb, place.managed).find(
        ({ place: at }, _, all) => all.length === 1 || (at.module === module && at.schema === id),
      )?.schema;
    // Of referenced entries, keep only the names.
    const rowOf = ({ expand, ...item }: Expanded): Row => {
      if (expand === undefined) return item;
      const shown: Record<string, string> = {};
      for (const field of references) {
        const target = expand[field.name];
        if (target !== null && target !== undefined && typeof target.id === "string")
          shown[field.name] = nameOf(target, schemaIn(field, target), orb, view);
      }
      return { ...item, names: shown };
    };
    const readOnes = async (ids: readonly string[], signal: AbortSignal) => {
      const search = new URLSearchParams({ limit: String(PAGE), "filter[id][in]": ids.join(",") });
      for (const name of ["fields", "expand", "revision"]) {
        const value = query.get(name);
        if (value !== null) search.set(name, value);
      }
      return (await listEntries(place, { query: search, signal })).items.map(rowOf);
    };
    return { key, rows: new Rows(read), readOnes, top: 0 };
  }, [key, view.locale, view.market]);
  kept = state;
  useEffect(() => () => state.rows.dispose(), [state]);
  return state;
}
