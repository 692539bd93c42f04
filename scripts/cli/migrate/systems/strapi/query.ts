/** Makes the parameters that let Strapi answer with everything that a migration needs. */
import { textIn, textsIn } from "../../model/read-json.ts";
import type { Field } from "./fields.ts";
import type { Model } from "./model.ts";

/** Components inside each other. */
const MAX_DEPTH = 8;

/** Returns the parameters for the relations, files and components of an entry. */
export function populateOf(fields: readonly Field[], model: Model): string[] {
  return inside(fields, model, "populate", 0);
}

function inside(fields: readonly Field[], model: Model, at: string, depth: number): string[] {
  return fields.flatMap(({ id, type, source }) => {
    const here = `${at}[${encodeURIComponent(id)}]`;
    if (type === "media" || type === "relation") return [`${here}[fields][0]=documentId`];
    if (type === "component") return of(textIn(source, "component") ?? "", model, here, depth);
    if (type !== "dynamiczone") return [];
    return textsIn(source, "components").flatMap((uid) =>
      of(uid, model, `${here}[on][${encodeURIComponent(uid)}]`, depth),
    );
  });
}

function of(uid: string, model: Model, at: string, depth: number): string[] {
  const component = model.component(uid);
  if (component === undefined || depth > MAX_DEPTH) return [];
  const deeper = inside(component.fields, model, `${at}[populate]`, depth + 1);
  return deeper.length > 0 ? deeper : [`${at}=true`];
}
