/** Renames modules and schemas, and updates the references to them in the document. */
import {
  below,
  isList,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  segmentsOf,
  textOf,
  valueAt,
  withValue,
} from "./pointer.ts";

/**
 * Sets the id of a module or schema. Updates references and hooks that contain the old id, unless that id is
 * ambiguous.
 */
export function withId(document: JsonObject, path: string, id: string): JsonObject {
  const made = withValue(document, below(path, "id"), id);
  const keys = segmentsOf(path);
  const siblings = listOf(valueAt(document, `/${keys.slice(0, -1).join("/")}`)).map(objectOf);
  const before = objectOf(valueAt(document, path)).id;
  const uses = (one: unknown) => siblings.filter((item) => item.id === one).length;
  if (typeof before !== "string" || uses(before) !== 1 || uses(id) !== 0) return made;
  const ofModule = keys.length === 2;
  const module = textOf(objectOf(valueAt(document, `/modules/${keys[1]}`)).id);
  const orb = textOf(document.id);
  const follow = (ref: string): string => {
    const parts = ref.split("/");
    if (parts[0] !== orb || parts[1] !== module || (!ofModule && parts[2] !== before)) return ref;
    return [orb, ofModule ? id : module, ofModule ? (parts[2] ?? "") : id].join("/");
  };
  const followed = (ref: Json): Json =>
    typeof ref === "string" ? follow(ref) : isList(ref) ? ref.map(followed) : ref;
  const renamed = (owner: Json, members: "fields" | "schemas"): Json => {
    const object = objectOf(owner);
    const inner = object[members];
    if (!isList(inner)) return owner;
    return {
      ...object,
      [members]: inner.map(members === "fields" ? withRef : (one) => renamed(one, "fields")),
    };
  };
  const withRef = (field: Json): Json => {
    const { ref } = objectOf(field);
    return renamed(ref === undefined ? field : { ...objectOf(field), ref: followed(ref) }, "fields");
  };
  const modules = listOf(made.modules).map((one) => renamed(one, "schemas"));
  const components = listOf(made.components).map((one) => renamed(one, "fields"));
  const member = ofModule ? "module" : "schema";
  const hooks = listOf(made.hooks).map((hook) => {
    const found = objectOf(hook);
    const fits = found[member] === before && (ofModule || found.module === module);
    return fits ? { ...found, [member]: id } : hook;
  });
  return {
    ...made,
    modules,
    ...(isList(made.components) ? { components } : {}),
    ...(Array.isArray(made.hooks) ? { hooks } : {}),
  };
}
