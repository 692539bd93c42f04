/** A schema of items, and the list of all of them, for followers of live lists on the store. */
import type { ListView } from "../../shared/entry/live/judge.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { admin, fileOrb, readAs } from "./entries.ts";

/** Publishes the orb `shop` on a broker of this file, with items that have a number `n`. */
export async function listedItems() {
  const file = await fileOrb({
    id: "shop",
    modules: [
      {
        id: "catalog",
        type: "CONTENT",
        schemas: [{ id: "item", fields: [{ name: "n", type: "integer" as const }] }],
      },
    ],
  });
  const schema = file.orb.compiled.schema("catalog", "item");
  if (schema === undefined) throw new Error("no schema");
  const view: ListView = {
    reading: readAs(admin, file.orb, schema, true),
    query: parseListQuery([], schema, []),
    choice: choose(schema, {}),
  };
  return { ...file, view };
}
