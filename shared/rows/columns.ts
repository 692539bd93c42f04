/** The columns of a table of entries: one for each field, language and market, such as `title.en`. */

/** The properties of a field that decide how files contain its values. */
export interface RowField {
  name: string;
  type: string;
  list?: boolean | undefined;
  translatable?: boolean | undefined;
  marketSpecific?: boolean | undefined;
  sensitive?: boolean | undefined;
  default?: unknown;
  /** The fields of the objects. */
  fields?: readonly RowField[] | undefined;
  /** The fields of the blocks of each component. */
  blocks?: readonly { component: string; fields: readonly RowField[] }[] | undefined;
}

/** Tells the content of a cell: the value of a field in one language and market, or a time of the entry. */
export interface RowCell {
  field: RowField;
  /** Property names that lead to the value in a new entry, such as `["values", "title", "de"]`. */
  way: readonly string[];
  /** Number of names that lead to the field, without those of the language and the market. Default: 2. */
  depth?: number;
  /** Whether the cell is a unique value of the entry that a reference points to. */
  key?: boolean | undefined;
  /** Whether an empty cell says nothing, and never removes a value. */
  stays?: boolean | undefined;
}

export interface RowPlaces {
  languages: readonly string[];
  markets: readonly string[];
}

/** Text that stands for a sensitive value in responses. */
export const MASK = "••••••••";

/** Properties of an entry that exports contain, and that a new entry cannot be given. */
export const GIVEN_BY_PLATFORM: ReadonlySet<string> = new Set([
  ...["id", "orb", "status", "revision", "publishedRevision", "module", "schema"],
  ...["createdAt", "createdBy", "updatedAt", "updatedBy", "expand", "through"],
]);

/**
 * Returns the cells of fields, in the order of the fields, then markets, then languages. An object has cells for its
 * fields, such as `seo.title.en`. A list of objects has one cell.
 */
export function fieldCells(
  fields: readonly RowField[],
  places: RowPlaces,
  before: readonly string[] = ["values"],
): RowCell[] {
  const { languages, markets } = places;
  return fields.flatMap((field) => {
    let ways: string[][] = [[...before, field.name]];
    const depth = before.length + 1;
    if (field.marketSpecific === true) ways = ways.flatMap((way) => markets.map((key) => [...way, key]));
    if (field.translatable === true) ways = ways.flatMap((way) => languages.map((key) => [...way, key]));
    const inner = field.type === "object" && field.list !== true ? field.fields : undefined;
    if (inner !== undefined) return ways.flatMap((way) => fieldCells(inner, places, way));
    return ways.map((way) => ({ field, way, depth }));
  });
}

/** The cells for the times at which an entry becomes visible and hidden again. */
export const WINDOW_CELLS: readonly RowCell[] = ["validFrom", "validTo"].map((name) => ({
  field: { name, type: "datetime" },
  way: [name],
}));

/** Names of the members that say when an entry was created, by whom, and in which state it is. */
export const ORIGIN: readonly string[] = ["status", "createdAt", "createdBy"];

/** The cells of {@link ORIGIN}, except those whose columns have the name of a field. */
export function originCells(fields: readonly Pick<RowField, "name">[]): RowCell[] {
  return ORIGIN.filter((name) => fields.every((field) => field.name !== name)).map((name) => ({
    field: { name, type: name === "createdAt" ? "datetime" : "string" },
    way: [name],
    stays: true,
  }));
}

/** Returns the name of the column that contains a cell. */
export function columnName({ way }: Pick<RowCell, "way">): string {
  return (way[0] === "values" ? way.slice(1) : way).join(".");
}
