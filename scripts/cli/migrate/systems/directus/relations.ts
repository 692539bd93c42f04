/** Finds what the relations of Directus lead to. */
import { numberIn, textIn, textsIn } from "../../model/read-json.ts";

type Item = Record<string, unknown>;

/** Where a field of a relation leads. */
export type Way =
  /** To an item of a collection. */
  | { kind: "one"; target: string }
  /** To an item of one of several collections. Another field names the collection. */
  | { kind: "any"; collectionField: string; targets: readonly string[] }
  /** To items that refer back, in the order of one of their fields. */
  | { kind: "back"; from: string; sort: string | undefined }
  /** To items over the items of a junction collection. */
  | { kind: "many"; through: string; back: string; field: string; target: string; sort: string | undefined }
  | {
      kind: "manyAny";
      through: string;
      back: string;
      field: string;
      collectionField: string;
      targets: readonly string[];
      sort: string | undefined;
    }
  /** To the texts in other languages. */
  | { kind: "translations"; through: string; back: string; language: string; languages: string };

export class Relations {
  readonly #all: readonly Item[];

  constructor(all: readonly Item[]) {
    this.#all = all;
  }

  /** Returns where a field leads; undefined if it does not refer to items. */
  wayOf(collection: string, field: string, special: readonly string[]): Way | undefined {
    const own = this.#all.find((one) => one.collection === collection && one.field === field);
    if (own !== undefined) return forward(own);
    const back = this.#all.find(
      (one) => one.related_collection === collection && textIn(one, "meta", "one_field") === field,
    );
    return back === undefined ? undefined : this.#backward(back, special);
  }

  #backward(relation: Item, special: readonly string[]): Way {
    const through = textIn(relation, "collection") ?? "";
    const back = textIn(relation, "field") ?? "";
    const sort = textIn(relation, "meta", "sort_field");
    const field = textIn(relation, "meta", "junction_field");
    const other = this.#all.find((one) => one.collection === through && one.field === field);
    const way = field === undefined || other === undefined ? undefined : forward(other);
    if (field === undefined || way === undefined) return { kind: "back", from: through, sort };
    if (way.kind === "any") return { ...way, kind: "manyAny", through, back, field, sort };
    if (way.kind !== "one") return { kind: "back", from: through, sort };
    if (special.includes("translations"))
      return { kind: "translations", through, back, language: field, languages: way.target };
    return { kind: "many", through, back, field, target: way.target, sort };
  }

  /** Returns the fields of a collection that only connect other items. */
  connecting(collection: string): string[] {
    return this.#all
      .filter((one) => one.collection === collection && textIn(one, "meta", "junction_field") !== undefined)
      .flatMap((one) =>
        [
          one.field,
          ...["sort_field", "one_collection_field"].map((name) => textIn(one, "meta", name)),
        ].filter((name): name is string => typeof name === "string"),
      );
  }
}

function forward(relation: Item): Way | undefined {
  const target = textIn(relation, "related_collection");
  if (target !== undefined) return { kind: "one", target };
  const collectionField = textIn(relation, "meta", "one_collection_field");
  const targets = textsIn(relation, "meta", "one_allowed_collections");
  return collectionField === undefined ? undefined : { kind: "any", collectionField, targets };
}

/** Returns how many items of a list Directus sends at most; undefined if it sends all. */
export function listLimitOf(info: unknown): number | undefined {
  const most = numberIn(info, "data", "queryLimit", "max");
  return most !== undefined && most > 0 ? most : undefined;
}
