/** The collection of an orb that the commands `orb entries export` and `orb entries import` work with. */
import type { OrbView } from "../../../functions/discovery/overview-schemas.ts";
import { pinnedTo } from "../../../shared/client/transport.ts";
import { fieldCells, originCells, type RowCell, WINDOW_CELLS } from "../../../shared/rows/columns.ts";
import { CommandError, type Context, manage } from "../command/context.ts";

export const FORMATS = ["ndjson", "csv", "tsv"] as const;
export type Format = (typeof FORMATS)[number];

export interface Collection {
  orb: OrbView;
  module: string;
  schema: OrbView["modules"][number]["schemas"][number];
}

/**
 * Returns a context whose requests have the shape of a revision of the orb's definition, if the user names one.
 * @throws CommandError if it is no number of a revision
 */
export function inShape(context: Context, { definition }: { definition?: number | undefined }): Context {
  if (definition === undefined) return context;
  if (!Number.isInteger(definition) || definition < 1)
    throw new CommandError(
      "--definition must be the number of a revision of the orb's document, such as 12.",
    );
  return { ...context, transport: pinnedTo(context.transport, definition) };
}

/** Finds the schema that `module/schema` names. If the module has only one schema, `module` is enough. */
export async function collectionOf(context: Context, id: string, collection: string): Promise<Collection> {
  const { orbs } = await manage<{ orbs: OrbView[] }>(context, "GET", "/api/discovery", {
    query: { orb: id },
  });
  const [orb] = orbs;
  const [name = "", wanted] = collection.split("/", 2);
  const module = orb?.modules.find((each) => each.id === name);
  const schema = module?.schemas.find((each) =>
    wanted === undefined ? module.schemas.length === 1 : each.id === wanted,
  );
  if (orb === undefined || module === undefined || schema === undefined) {
    const known = orb?.modules.flatMap((each) => each.schemas.map((of) => `${each.id}/${of.id}`)) ?? [];
    throw new CommandError(`The orb ${id} has no collection ${collection}. It has ${known.join(", ")}.`);
  }
  return { orb, module: module.id, schema };
}

/**
 * Returns the cells of a table of the collection: those of its fields, then the times of the entry.
 * @param options.origin whether the table also says when entries were created, by whom, and their state
 */
export function cellsOf(
  { orb, schema }: Collection,
  options: { sensitive: boolean; origin: boolean },
): RowCell[] {
  const fields = schema.fields.filter(({ sensitive }) => options.sensitive || !sensitive);
  const origin = options.origin ? originCells(schema.fields) : [];
  return [...fieldCells(fields, orb), ...WINDOW_CELLS, ...origin];
}
