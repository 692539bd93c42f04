/** Finds the field of Directus that says whether readers see an item. */
import { member, objectsIn, textIn } from "../../model/read-json.ts";
import type { Loss, Status } from "../../model/source.ts";

type Item = Record<string, unknown>;

export interface States {
  field: string;
  /** Whether the field also has values that no state has, so that it stays a field. */
  isKept: boolean;
  of(value: unknown): Status;
}

/** Values of the field that a new collection of Directus has. */
const STATES: Readonly<Record<string, Status>> = {
  published: "PUBLISHED",
  draft: "SAVED",
  archived: "ARCHIVED",
};

/** Returns undefined for a collection whose items are all visible. */
export function statesOf(collection: Item, fields: readonly Item[], losses: Loss[]): States | undefined {
  const named = textIn(collection, "meta", "archive_field");
  const field = fields.find((one) => one.field === (named ?? "status"));
  if (field === undefined) return undefined;
  const id = String(field.field);
  const choices = objectsIn(field, "meta", "options", "choices").flatMap((one) => textIn(one, "value") ?? []);
  const archived = textIn(collection, "meta", "archive_value");
  if (named !== undefined && !choices.includes("published")) return archiveOf(id, field, archived);
  if (!choices.includes("published")) return undefined;
  const others = choices.filter((one) => one !== archived && !Object.hasOwn(STATES, one));
  if (others.length > 0)
    losses.push({
      ...{ kind: "model", at: `collection ${textIn(collection, "collection")}, field ${id}` },
      why: `there are no states ${others.join(", ")}`,
      became: "drafts, and the field stays",
    });
  return {
    field: id,
    isKept: others.length > 0,
    of: (value) =>
      value === archived
        ? "ARCHIVED"
        : ((Object.hasOwn(STATES, String(value)) ? STATES[String(value)] : undefined) ?? "SAVED"),
  };
}

/** The field only says what is archived: everything else is visible. */
function archiveOf(id: string, field: Item, archived: string | undefined): States {
  const isFlag = member(field, "type") === "boolean";
  return {
    ...{ field: id, isKept: !isFlag },
    of: (value) => (archived !== undefined && String(value) === archived ? "ARCHIVED" : "PUBLISHED"),
  };
}
